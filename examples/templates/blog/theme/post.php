<h1><?= $text($post['title']) ?></h1>
<?php if ($post['picture'] !== null): ?><img src="/uploads/<?= $text($post['picture']) ?>" alt=""><?php endif ?>
<p><?= nl2br($text($post['words'])) ?></p>
<?php foreach ($comments as $comment): ?>
<blockquote><strong><?= $text($comment['author']) ?></strong>: <?= $text($comment['words']) ?></blockquote>
<?php endforeach ?>
<form method="post">
  <input name="author" required placeholder="Your name">
  <input name="words" required placeholder="Your comment">
  <button>Comment</button>
</form>
