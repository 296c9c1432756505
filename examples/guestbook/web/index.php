<?php
require __DIR__ . '/../database.php';

const PICTURES = __DIR__ . '/pictures';
const TYPES = ['image/png' => 'png', 'image/jpeg' => 'jpg', 'image/gif' => 'gif', 'image/webp' => 'webp'];

/** Kept under a name of our own; null where there is none, or it is no picture. */
function keepPicture(?array $file): ?string {
    if (($file['error'] ?? UPLOAD_ERR_NO_FILE) !== UPLOAD_ERR_OK) return null;
    $type = TYPES[getimagesize($file['tmp_name'])['mime'] ?? ''] ?? null;
    if ($type === null) return null;
    $name = bin2hex(random_bytes(8)) . ".$type";
    move_uploaded_file($file['tmp_name'], PICTURES . "/$name");
    return $name;
}

$database = database();
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    $insert = $database->prepare('insert into entries (name, words, picture) values (?, ?, ?)');
    $insert->execute([mb_substr($_POST['name'] ?? '', 0, 100), mb_substr($_POST['words'] ?? '', 0, 1000), keepPicture($_FILES['picture'] ?? null)]);
    header('Location: /', true, 303);
    exit;
}
$entries = $database->query('select name, words, picture, at from entries order by id desc limit 100')->fetchAll(PDO::FETCH_ASSOC);
$text = fn (string $words): string => htmlspecialchars($words, ENT_QUOTES);
?>
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Guestbook</title>
<style>body { font: 1.1em/1.5 system-ui; max-width: 40em; margin: 2em auto; padding: 0 1em } img { max-width: 100% } label { display: block }</style>
<h1>Guestbook of <?= $text(getenv('PLATFORM_BRANCH') ?: 'nowhere') ?></h1>
<form method="post" enctype="multipart/form-data">
  <label>Name <input name="name" required></label>
  <label>Words <input name="words" required></label>
  <label>Picture <input name="picture" type="file" accept="image/*"></label>
  <button>Sign</button>
</form>
<?php foreach ($entries as $entry): ?>
<article>
  <p><strong><?= $text($entry['name']) ?></strong>: <?= $text($entry['words']) ?></p>
  <?php if ($entry['picture'] !== null): ?><img src="/pictures/<?= $text($entry['picture']) ?>" alt=""><?php endif ?>
</article>
<?php endforeach ?>
