<?php
namespace Agenda\Controller;

use Agenda\Framework\{Response, Route};
use PDO;

final readonly class EventController {
    public function __construct(private PDO $database) {}

    #[Route('GET', '/')]
    public function list(): Response {
        $events = $this->database->query('select id, title, place, day from events order by day, id limit 100')->fetchAll();
        return Response::page('events', ['events' => $events]);
    }

    #[Route('GET', '/events/{id}')]
    public function show(string $id): Response {
        $found = $this->database->prepare('select title, place, day from events where id::text = ?');
        $found->execute([$id]);
        $event = $found->fetch();
        return $event ? Response::page('event', ['event' => $event]) : Response::page('missing', [], 404);
    }

    #[Route('POST', '/events')]
    public function add(): Response {
        [$title, $place, $day] = array_map(fn (string $name): string => mb_substr($_POST[$name] ?? '', 0, 200), ['title', 'place', 'day']);
        if ($title === '' || !\DateTimeImmutable::createFromFormat('!Y-m-d', $day)) return Response::page('refused', [], 422);
        $this->database->prepare('insert into events (title, place, day) values (?, ?, ?)')->execute([$title, $place, $day]);
        return Response::redirect('/');
    }
}
