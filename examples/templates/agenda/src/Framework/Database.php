<?php
namespace Agenda\Framework;

use PDO;

/** The relationship `database` of the configuration, as variables tell it. */
final class Database {
    public static function open(): PDO {
        $address = sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('DATABASE_HOST'), getenv('DATABASE_PORT'), getenv('DATABASE_PATH'));
        return new PDO($address, getenv('DATABASE_USERNAME'), getenv('DATABASE_PASSWORD'), [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
        ]);
    }
}
