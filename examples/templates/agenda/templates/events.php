<ul>
<?php foreach ($events as $event): ?>
  <li><?= $text($event['day']) ?> <a href="/events/<?= $text($event['id']) ?>"><?= $text($event['title']) ?></a>, <?= $text($event['place']) ?></li>
<?php endforeach ?>
</ul>
<form method="post" action="/events">
  <input name="title" required placeholder="What"> <input name="place" placeholder="Where"> <input name="day" type="date" required>
  <button>Add</button>
</form>
