require_relative "app/polls_controller"
require_relative "lib/http_server"

polls = PollsController.new

HttpServer.new(
  ["GET", "/"] => polls.method(:index),
  ["POST", "/votes"] => polls.method(:vote)
).listen(ENV.fetch("PORT", "8080").to_i)
