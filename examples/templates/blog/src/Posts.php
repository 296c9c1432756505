<?php
namespace Blog;

use PDO;

final readonly class Posts {
    public function __construct(private PDO $database) {}

    public function latest(): array {
        return $this->database->query('select p.*, (select count(*) from comments c where c.post_id = p.id) as comments from posts p order by at desc, id desc limit 50')->fetchAll();
    }

    public function bySlug(string $slug): ?array {
        $found = $this->database->prepare('select * from posts where slug = ?');
        $found->execute([$slug]);
        return $found->fetch() ?: null;
    }

    public function commentsOf(int $post): array {
        $found = $this->database->prepare('select author, words, at from comments where post_id = ? order by id');
        $found->execute([$post]);
        return $found->fetchAll();
    }

    public function publish(string $title, string $words, ?string $picture): void {
        $insert = $this->database->prepare('insert into posts (slug, title, words, picture) values (?, ?, ?, ?)');
        $insert->execute([self::slugOf($title), mb_substr($title, 0, 200), $words, $picture]);
    }

    public function comment(int $post, string $author, string $words): void {
        $insert = $this->database->prepare('insert into comments (post_id, author, words) values (?, ?, ?)');
        $insert->execute([$post, mb_substr($author, 0, 100), mb_substr($words, 0, 2000)]);
    }

    /** Readable, and never twice the same. */
    private static function slugOf(string $title): string {
        $words = trim(preg_replace('/[^a-z0-9]+/', '-', mb_strtolower($title)), '-');
        return mb_substr($words, 0, 80) . '-' . bin2hex(random_bytes(3));
    }
}
