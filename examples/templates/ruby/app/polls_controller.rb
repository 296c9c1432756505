require_relative "polls"
require_relative "../lib/view"

class PollsController
  def initialize(polls = Polls.open) = @polls = polls

  def index(_params) = [200, View.render("polls", polls: @polls.all, branch: ENV.fetch("PLATFORM_BRANCH", "nowhere"))]

  def vote(params)
    answer = params["answer"].to_s.strip[0, 100]
    return [422, "An answer has words."] if answer.empty?

    @polls.vote(params["question"], answer)
    [303, "/"]
  end
end
