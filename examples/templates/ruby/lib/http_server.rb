require "socket"
require "uri"

# As much of HTTP/1.1 as one needs behind a proxy that has checked and buffered the request: a thread for each connection, one request each.
class HttpServer
  BODY_BYTES_MAX = 1_000_000
  REASONS = { 200 => "OK", 303 => "See Other", 404 => "Not Found", 413 => "Content Too Large", 422 => "Unprocessable Content", 500 => "Internal Server Error" }.freeze

  # routes: { ["GET", "/"] => ->(params) { [200, "text"] } }; a redirect is [303, "/where"].
  def initialize(routes) = @routes = routes

  def listen(port)
    server = TCPServer.new("0.0.0.0", port)
    trap("TERM") { exit }
    loop { Thread.new(server.accept) { |connection| serve(connection) } }
  end

  private

  def serve(connection)
    method, target = connection.gets.to_s.split
    return if target.nil?

    headers = {}
    while (line = connection.gets.to_s.chomp) != ""
      name, value = line.split(": ", 2)
      headers[name.downcase] = value
    end
    send_reply(connection, *answer(connection, method, URI(target).path, headers["content-length"].to_i))
  rescue StandardError => error
    warn error.full_message
    send_reply(connection, 500, "Something went wrong here.")
  ensure
    connection.close
  end

  def answer(connection, method, path, length)
    return [413, "That is too long."] if length > BODY_BYTES_MAX

    action = @routes[[method, path]]
    return [404, "There is nothing here."] if action.nil?

    action.call(URI.decode_www_form(length.zero? ? "" : connection.read(length)).to_h)
  end

  def send_reply(connection, status, text)
    location = status == 303 ? "Location: #{text}\r\n" : ""
    body = status == 303 ? "" : text
    connection.write "HTTP/1.1 #{status} #{REASONS.fetch(status)}\r\nContent-Type: text/html; charset=utf-8\r\n#{location}" \
                     "Content-Length: #{body.bytesize}\r\nConnection: close\r\n\r\n#{body}"
  end
end
