<h2><?= $text($event['title']) ?></h2>
<p><?= $text($event['day']) ?>, <?= $text($event['place']) ?></p>
