<?php
namespace Agenda\Framework;

use PDO;
use ReflectionClass;

/** Finds the method whose route fits, and calls it with what the path says. */
final readonly class Kernel {
    /** @param class-string[] $controllers */
    public function __construct(private PDO $database, private array $controllers) {}

    public function handle(string $method, string $path): Response {
        foreach ($this->controllers as $class) {
            foreach ((new ReflectionClass($class))->getMethods() as $action) {
                foreach ($action->getAttributes(Route::class) as $attribute) {
                    $given = $attribute->newInstance()->match($method, $path);
                    if ($given !== null) return $action->invokeArgs(new $class($this->database), $given);
                }
            }
        }
        return Response::page('missing', [], 404);
    }
}
