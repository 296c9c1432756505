require "pstore"

# Questions, their answers and how often each was given: one file on a mount, changed by one at a time.
class Polls
  def self.open(folder = "data") = new(PStore.new(File.join(folder, "polls.pstore"), true))

  def initialize(store)
    @store = store
    @store.ultra_safe = true
  end

  def all = @store.transaction(true) { @store.fetch(:polls, {}) }

  def begin_with(polls)
    @store.transaction { @store[:polls] ||= polls }
  end

  # An answer that nobody thought of counts as well.
  def vote(question, answer)
    change(question) { |answers| answers.merge(answer => answers.fetch(answer, 0) + 1) }
  end

  private

  def change(question)
    @store.transaction do
      polls = @store[:polls] || {}
      @store.abort unless polls.key?(question)
      @store[:polls] = polls.merge(question => yield(polls[question]))
    end
  end
end
