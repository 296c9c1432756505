<?php foreach ($posts as $post): ?>
<article>
  <h2><a href="/<?= $text($post['slug']) ?>"><?= $text($post['title']) ?></a></h2>
  <p><?= nl2br($text($post['words'])) ?></p>
  <p><small><?= $text($post['at']) ?>, <?= $post['comments'] ?> comments</small></p>
</article>
<?php endforeach ?>
<form method="post" enctype="multipart/form-data">
  <input name="title" required placeholder="Title">
  <textarea name="words" required placeholder="What happened?"></textarea>
  <input name="picture" type="file" accept="image/*">
  <button>Publish</button>
</form>
