<?php
/** Run by each deployment: makes the tables, and on the first one writes two posts and a comment. */
require __DIR__ . '/vendor/autoload.php';

$database = Blog\Database::open();
$database->exec('create table if not exists posts (
  id int unsigned auto_increment primary key, slug varchar(100) not null unique, title varchar(200) not null, words text not null,
  picture varchar(100), at timestamp not null default current_timestamp)');
$database->exec('create table if not exists comments (
  id int unsigned auto_increment primary key, post_id int unsigned not null, author varchar(100) not null, words text not null,
  at timestamp not null default current_timestamp, foreign key (post_id) references posts (id) on delete cascade)');
if ($database->query('select count(*) from posts')->fetchColumn() === 0) {
    $posts = new Blog\Posts($database);
    $posts->publish('A gate in the hedge', "Somebody has cut a gate into the hedge.\n\nNobody says who it was. Everybody uses it.", null);
    $posts->publish('Hello from the allotment', 'The beans are up, and so are the snails.', null);
    $posts->comment(1, 'Grace', 'I have oiled its hinges.');
}
echo "The blog is ready\n";
