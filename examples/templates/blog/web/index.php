<?php
require __DIR__ . '/../vendor/autoload.php';

const TYPES = ['image/png' => 'png', 'image/jpeg' => 'jpg', 'image/webp' => 'webp'];

/** Kept under a name of our own; null where there is none, or it is no picture. */
function keepPicture(?array $file): ?string {
    if (($file['error'] ?? UPLOAD_ERR_NO_FILE) !== UPLOAD_ERR_OK) return null;
    $type = TYPES[getimagesize($file['tmp_name'])['mime'] ?? ''] ?? null;
    if ($type === null) return null;
    $name = bin2hex(random_bytes(8)) . ".$type";
    move_uploaded_file($file['tmp_name'], __DIR__ . "/uploads/$name");
    return $name;
}

/** A page of the theme, with what it is to show. */
function show(string $page, array $given, int $status = 200): never {
    http_response_code($status);
    $text = fn (?string $words): string => htmlspecialchars((string) $words, ENT_QUOTES);
    extract($given);
    ob_start();
    require __DIR__ . "/../theme/$page.php";
    $content = ob_get_clean();
    require __DIR__ . '/../theme/frame.php';
    exit;
}

function lead(string $to): never {
    header("Location: $to", true, 303);
    exit;
}

$posts = new Blog\Posts(Blog\Database::open());
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$isPost = $_SERVER['REQUEST_METHOD'] === 'POST';

if ($path === '/' && $isPost) {
    $posts->publish($_POST['title'] ?? '', $_POST['words'] ?? '', keepPicture($_FILES['picture'] ?? null));
    lead('/');
}
if ($path === '/') show('posts', ['posts' => $posts->latest()]);
$post = $posts->bySlug(ltrim($path, '/'));
if ($post === null) show('missing', [], 404);
if ($isPost) {
    $posts->comment($post['id'], $_POST['author'] ?? '', $_POST['words'] ?? '');
    lead($path);
}
show('post', ['post' => $post, 'comments' => $posts->commentsOf($post['id'])]);
