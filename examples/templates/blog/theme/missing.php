<p>There is no such post. <a href="/">These there are.</a></p>
