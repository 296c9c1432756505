// Short links, and how often each was followed. `links prepare` is run by each deployment, `links` serves.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed page.html schema.sql
var files embed.FS

var page = template.Must(template.ParseFS(files, "page.html"))

type link struct {
	Name, Target string
	Visits       int
}

type server struct{ database *pgxpool.Pool }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	database, err := pgxpool.New(ctx, databaseAddress())
	if err != nil {
		log.Fatal(err)
	}
	defer database.Close()
	if len(os.Args) > 1 && os.Args[1] == "prepare" {
		err = prepare(ctx, database)
	} else {
		err = serve(ctx, &server{database})
	}
	if err != nil {
		log.Fatal(err)
	}
}

// The relationship `database` of the configuration, as variables tell it.
func databaseAddress() string {
	address := url.URL{
		Scheme: "postgresql",
		User:   url.UserPassword(os.Getenv("DATABASE_USERNAME"), os.Getenv("DATABASE_PASSWORD")),
		Host:   net.JoinHostPort(os.Getenv("DATABASE_HOST"), os.Getenv("DATABASE_PORT")),
		Path:   os.Getenv("DATABASE_PATH"),
	}
	return address.String()
}

// The schema may be applied any number of times; the first links come with the table.
func prepare(ctx context.Context, database *pgxpool.Pool) error {
	schema, err := files.ReadFile("schema.sql")
	if err != nil {
		return err
	}
	if _, err = database.Exec(ctx, string(schema)); err == nil {
		fmt.Println("The links are ready")
	}
	return err
}

func serve(ctx context.Context, s *server) error {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /{$}", s.list)
	routes.HandleFunc("POST /{$}", s.add)
	routes.HandleFunc("GET /{name}", s.follow)
	listener := http.Server{Addr: ":" + os.Getenv("PORT"), Handler: routes}
	go func() {
		<-ctx.Done()
		_ = listener.Shutdown(context.Background())
	}()
	if err := listener.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	rows, err := s.database.Query(r.Context(), "select name, target, visits from links order by visits desc, name limit 100")
	if err != nil {
		fail(w, err)
		return
	}
	defer rows.Close()
	var links []link
	for rows.Next() {
		var each link
		if err := rows.Scan(&each.Name, &each.Target, &each.Visits); err != nil {
			fail(w, err)
			return
		}
		links = append(links, each)
	}
	if err := page.Execute(w, map[string]any{"Branch": os.Getenv("PLATFORM_BRANCH"), "Links": links}); err != nil {
		log.Print(err)
	}
}

func (s *server) add(w http.ResponseWriter, r *http.Request) {
	name, target := r.PostFormValue("name"), r.PostFormValue("target")
	if parsed, err := url.Parse(target); err != nil || name == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		http.Error(w, "A link has a name, and leads to an address that begins with https://.", http.StatusUnprocessableEntity)
		return
	}
	const insert = "insert into links (name, target) values ($1, $2) on conflict (name) do update set target = excluded.target"
	if _, err := s.database.Exec(r.Context(), insert, name, target); err != nil {
		fail(w, err)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *server) follow(w http.ResponseWriter, r *http.Request) {
	var target string
	const visit = "update links set visits = visits + 1 where name = $1 returning target"
	if err := s.database.QueryRow(r.Context(), visit, r.PathValue("name")).Scan(&target); err != nil {
		http.NotFound(w, r)
		return
	}
	http.Redirect(w, r, target, http.StatusFound)
}

func fail(w http.ResponseWriter, err error) {
	log.Print(err)
	http.Error(w, "Something went wrong here.", http.StatusInternalServerError)
}
