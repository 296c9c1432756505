<?php
namespace Agenda\Framework;

use PDO;

/** Files of SQL, applied once each in the order of their names; one that fails leaves nothing behind. */
final readonly class Migrations {
    public function __construct(private PDO $database, private string $folder) {}

    public function run(callable $tell): void {
        $this->database->exec('create table if not exists migrations (name text primary key, at timestamptz not null default now())');
        $done = $this->database->query('select name from migrations')->fetchAll(PDO::FETCH_COLUMN);
        foreach (glob("$this->folder/*.sql") as $file) {
            $name = basename($file, '.sql');
            if (in_array($name, $done, true)) continue;
            $this->database->beginTransaction();
            $this->database->exec(file_get_contents($file));
            $this->database->prepare('insert into migrations (name) values (?)')->execute([$name]);
            $this->database->commit();
            $tell($name);
        }
    }
}
