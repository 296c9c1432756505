<p>There is nothing here.</p>
