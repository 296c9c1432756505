<?php
namespace Agenda\Framework;

use Attribute;

/** Marks a method of a controller: `#[Route('GET', '/events/{id}')]`. What is in braces becomes an argument of that name. */
#[Attribute(Attribute::TARGET_METHOD)]
final readonly class Route {
    public function __construct(public string $method, public string $path) {}

    public function match(string $method, string $path): ?array {
        $pattern = preg_replace('/\\\\\{(\w+)\\\\\}/', '(?<$1>[^/]+)', preg_quote($this->path, '#'));
        if ($method !== $this->method || preg_match("#^$pattern$#", $path, $found) !== 1) return null;
        return array_filter($found, is_string(...), ARRAY_FILTER_USE_KEY);
    }
}
