<p>An event has a title and a day, such as 2027-05-01.</p>
