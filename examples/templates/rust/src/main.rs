//! Readings of weather stations. `weather prepare` is run by each deployment, `weather` serves.

use std::{env, error::Error, sync::Arc};

use axum::{
    Form, Router,
    extract::State,
    http::StatusCode,
    response::{Html, Redirect},
    routing::get,
};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_postgres::{Client, Config, NoTls};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let database = connect().await?;
    if env::args().nth(1).as_deref() == Some("prepare") {
        database.batch_execute(include_str!("schema.sql")).await?;
        println!("The readings are ready");
        return Ok(());
    }
    let routes = Router::new().route("/", get(list).post(add)).with_state(Arc::new(database));
    let listener = TcpListener::bind(("0.0.0.0", env::var("PORT")?.parse()?)).await?;
    let mut ended = signal(SignalKind::terminate())?;
    axum::serve(listener, routes).with_graceful_shutdown(async move { ended.recv().await.unwrap_or_default() }).await?;
    Ok(())
}

/// The relationship `database` of the configuration, as variables tell it. When the connection ends, so does the program: it is started again at once.
async fn connect() -> Result<Client, Box<dyn Error>> {
    let mut config = Config::new();
    config
        .host(env::var("DATABASE_HOST")?)
        .port(env::var("DATABASE_PORT")?.parse()?)
        .dbname(env::var("DATABASE_PATH")?)
        .user(env::var("DATABASE_USERNAME")?)
        .password(env::var("DATABASE_PASSWORD")?);
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            eprintln!("The connection to the database ended: {error}");
            std::process::exit(1);
        }
    });
    Ok(client)
}

type Failure = (StatusCode, String);

fn failed(error: tokio_postgres::Error) -> Failure {
    eprintln!("{error}");
    (StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong here.".into())
}

async fn list(State(database): State<Arc<Client>>) -> Result<Html<String>, Failure> {
    let select = "select station, degrees from readings order by id desc limit 100";
    let rows = database.query(select, &[]).await.map_err(failed)?;
    let readings: String = rows
        .iter()
        .map(|row| format!("<li>{}: {} °C</li>\n", escaped(row.get(0)), row.get::<_, i32>(1)))
        .collect();
    let branch = env::var("PLATFORM_BRANCH").unwrap_or("nowhere".into());
    Ok(Html(include_str!("page.html").replace("{branch}", &escaped(&branch)).replace("{readings}", &readings)))
}

#[derive(Deserialize)]
struct Reading {
    station: String,
    degrees: i32,
}

async fn add(State(database): State<Arc<Client>>, Form(reading): Form<Reading>) -> Result<Redirect, Failure> {
    let insert = "insert into readings (station, degrees) values ($1, $2)";
    database.execute(insert, &[&reading.station, &reading.degrees]).await.map_err(failed)?;
    Ok(Redirect::to("/"))
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
