<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The allotment</title>
<link rel="stylesheet" href="/style.css">
<header><a href="/">The allotment</a>, as seen from <?= $text(getenv('PLATFORM_BRANCH') ?: 'nowhere') ?></header>
<main><?= $content ?></main>
