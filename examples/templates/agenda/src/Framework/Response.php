<?php
namespace Agenda\Framework;

final readonly class Response {
    private function __construct(private int $status, private string $body, private array $headers = []) {}

    /** A template, and in it what is given; `$text` makes words safe to show. */
    public static function page(string $template, array $given = [], int $status = 200): self {
        $render = function (string $file, array $given): string {
            $text = fn (mixed $words): string => htmlspecialchars((string) $words, ENT_QUOTES);
            extract($given);
            ob_start();
            require __DIR__ . "/../../templates/$file.php";
            return ob_get_clean();
        };
        return new self($status, $render('frame', ['content' => $render($template, $given)]));
    }

    public static function redirect(string $to): self {
        return new self(303, '', ['Location' => $to]);
    }

    public function send(): void {
        http_response_code($this->status);
        foreach ($this->headers as $name => $value) header("$name: $value");
        echo $this->body;
    }
}
