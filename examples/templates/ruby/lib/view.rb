require "erb"

# A template of app/views; what is given are its names, and `h` makes words safe to show.
class View
  include ERB::Util

  def self.render(name, **given)
    template = ERB.new(File.read(File.join(__dir__, "..", "app", "views", "#{name}.html.erb")), trim_mode: "<>")
    context = new.instance_eval { binding }
    given.each { |key, value| context.local_variable_set(key, value) }
    template.result(context)
  end
end
