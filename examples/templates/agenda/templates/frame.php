<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Agenda</title>
<style>body { font: 1.1em/1.6 system-ui; max-width: 40em; margin: 2em auto; padding: 0 1em }</style>
<h1><a href="/">Agenda</a> of <?= $text(getenv('PLATFORM_BRANCH') ?: 'nowhere') ?></h1>
<?= $content ?>
