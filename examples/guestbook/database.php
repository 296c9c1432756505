<?php
/** The relationship `database` of the configuration, as variables tell it. */
function database(): PDO {
    $address = sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('DATABASE_HOST'), getenv('DATABASE_PORT'), getenv('DATABASE_PATH'));
    return new PDO($address, getenv('DATABASE_USERNAME'), getenv('DATABASE_PASSWORD'), [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
}
