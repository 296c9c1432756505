<?php
require __DIR__ . '/../vendor/autoload.php';

use Agenda\Controller\EventController;
use Agenda\Framework\{Database, Kernel};

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
(new Kernel(Database::open(), [EventController::class]))->handle($_SERVER['REQUEST_METHOD'], $path)->send();
