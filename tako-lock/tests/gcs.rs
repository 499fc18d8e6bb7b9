//! The real client against a server of a few lines: what each answer means, what each request carries, and that the
//! engine lives on while the caller's runtime does not.

#[path = "gcs/server.rs"]
mod server;

use std::time::Duration;

use server::{Answer, Server, error, file, stored};
use tako::backend::{
    BackendError, ErrorKind, Extra, Fence, GcsLease, Key, LeaseBackend, Owner, Record, StoreTime, Swap, Token,
};
use tako::prelude::*;
use tako::{Engine, GcsConfig, LockError, Verdict};

static REINDEX: Lock = lock!("reindex");

fn config(server: &Server) -> GcsConfig {
    GcsConfig {
        project: "demo".into(),
        app: "gallery".into(),
        env: "pr-42".into(),
        emulator: Some(server.address()),
        ..GcsConfig::default()
    }
}

fn lease(server: &Server) -> GcsLease {
    GcsLease::new(&config(server)).unwrap()
}

fn key() -> Key {
    Key::new("leases/run-gallery-pr-42-reindex", "gallery/pr-42/reindex")
}

fn record() -> Record {
    Record {
        owner: Owner::new("web-7f#5f0c"),
        expires: StoreTime::from_millis(1_796_126_430_125),
        fence: Fence::new(7),
        lock: key().lock().clone(),
        mark: None,
        extra: Extra::NONE,
    }
}

async fn load_error(answer: Answer) -> BackendError {
    let server = Server::always(answer);
    lease(&server).load(&key()).await.unwrap_err()
}

async fn swap(answer: Answer) -> Result<Swap, BackendError> {
    let server = Server::always(answer);
    let swap = lease(&server).swap(&key(), None, &record()).await;
    assert_eq!(server.requests().len(), 1, "one request a verb, whatever comes back");
    swap
}

fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

#[tokio::test]
async fn a_write_carries_its_condition_its_checksum_and_its_headers() {
    let server = Server::always(stored(41));
    let lease = lease(&server);
    let applied = lease.swap(&key(), Some(&Token::from(40)), &record()).await.unwrap();
    // `updated` in the answer, to the millisecond.
    let at = Some(StoreTime::from_millis(1_796_126_400_250));
    assert_eq!(applied, Swap::Applied { token: Token::from(41), at });
    lease.swap(&key(), None, &record()).await.unwrap();
    lease.now().await.unwrap();
    let requests = server.requests();
    let [overwrite, create, now] = &requests[..] else { panic!("three requests") };
    assert!(overwrite.starts_with("POST /upload/storage/v1/b/demo-tako/o?"), "{overwrite}");
    for part in [
        "uploadType=multipart",
        "ifGenerationMatch=40",
        "name=leases%2Frun-gallery-pr-42-reindex",
        r#""cacheControl":"no-store""#,
        r#""contentType":"application/json""#,
        r#""crc32c":"#,
        r#""owner":"web-7f#5f0c""#,
    ] {
        assert!(overwrite.contains(part), "no {part} in {overwrite}");
    }
    let parts = overwrite.to_ascii_lowercase().matches("content-disposition").count();
    assert_eq!(parts, 2, "no third part: {overwrite}");
    assert!(create.contains("ifGenerationMatch=0"), "{create}");
    assert!(now.contains("name=leases%2Fclock-gallery-pr-42"), "{now}");
    assert!(!now.contains("ifGenerationMatch") && now.contains("no-store"), "{now}");
}

#[tokio::test]
async fn a_token_that_is_no_generation_is_refused_without_a_request() {
    let server = Server::always(stored(41));
    for token in [Token::from(0), Token::from(u64::MAX), Token::from("x")] {
        assert_eq!(lease(&server).swap(&key(), Some(&token), &record()).await.unwrap(), Swap::Refused);
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_refusal_is_an_answer() {
    for code in [409, 412] {
        assert_eq!(swap(error(code, "conditionNotMet")).await.unwrap(), Swap::Refused);
    }
}

#[tokio::test]
async fn a_write_that_may_have_been_applied_is_never_told_for_one_that_was_not() {
    for answer in [
        error(500, "backendError"),
        error(503, "backendError"),
        error(408, "timeout"),
        Answer::Close,
        Answer::Half(Box::new(stored(41))),
        Answer::Text(200, "<html>a page</html>".into()),
        Answer::Text(200, r#"{"name":"no generation"}"#.into()),
    ] {
        let shown = format!("{answer:?}");
        let error = swap(answer).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownOutcome, "{shown}: {error}");
    }
}

#[tokio::test]
async fn a_write_that_was_not_applied_says_so() {
    assert_eq!(swap(error(429, "rateLimitExceeded")).await.unwrap_err().kind(), ErrorKind::Throttled);
    let server = Server::always(stored(41));
    let lease = lease(&server);
    server.stop();
    let refused = lease.swap(&key(), None, &record()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
    assert!(told(&refused).contains("refused"), "{}", told(&refused));
}

#[tokio::test]
async fn settings_and_permissions_are_told_with_a_way_out() {
    let no_bucket = swap(error(404, "notFound")).await.unwrap_err();
    assert_eq!(no_bucket.kind(), ErrorKind::Misconfigured);
    assert!(no_bucket.to_string().contains("gcloud storage buckets create gs://demo-tako"), "{no_bucket}");
    let denied = swap(error(403, "forbidden")).await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Denied);
    assert!(denied.to_string().contains("`storage.objects.delete`"), "{denied}");
    let retained = swap(error(403, "retentionPolicyNotMet")).await.unwrap_err();
    assert_eq!(retained.kind(), ErrorKind::Misconfigured);
    assert!(retained.to_string().contains("retention policy"), "{retained}");
    assert_eq!(load_error(error(401, "authError")).await.kind(), ErrorKind::Denied);
}

#[tokio::test]
async fn a_read_has_three_answers() {
    let server = Server::always(error(404, "notFound"));
    assert_eq!(lease(&server).load(&key()).await.unwrap(), None);
    let body = String::from_utf8(record().to_json().unwrap()).unwrap();
    let server = Server::always(file(41, body));
    let stored = lease(&server).load(&key()).await.unwrap().unwrap();
    assert_eq!((stored.record, stored.token), (record(), Token::from(41)));
    let error = load_error(file(41, "{\"owner\":7}".into())).await;
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let text = told(&error);
    assert!(text.contains("`gs://demo-tako/leases/run-gallery-pr-42-reindex`"), "{text}");
    assert!(text.contains("invalid type: integer `7`"), "{text}");
}

#[tokio::test]
async fn a_read_that_breaks_off_is_not_resumed_in_secret() {
    let body = String::from_utf8(record().to_json().unwrap()).unwrap();
    let server = Server::always(Answer::Half(Box::new(file(41, body))));
    let error = lease(&server).load(&key()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_hostile_object_is_not_read_to_its_end() {
    let hostile = load_error(file(41, "x".repeat(10_000_000))).await;
    assert_eq!(hostile.kind(), ErrorKind::Corrupt);
    assert!(hostile.to_string().contains("more than 65536 bytes"), "{hostile}");
    let deep = load_error(file(41, "[".repeat(60_000))).await;
    assert_eq!(deep.kind(), ErrorKind::Corrupt, "nesting is bounded: {deep}");
    let huge = Record { owner: Owner::new("x".repeat(70_000)), ..record() };
    let server = Server::always(stored(41));
    let error = lease(&server).swap(&key(), None, &huge).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "what could not be read again is not written: {error}");
    assert!(server.requests().is_empty());
}

/// The caller's runtime: no timer, no I/O.
fn bare() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

#[test]
fn the_engine_outlives_the_runtime_that_made_it() {
    let server = Server::bucket();
    let engine = bare().block_on(Engine::gcs(config(&server))).unwrap();
    let run = || {
        let ran = bare().block_on(REINDEX.try_run(&engine.ctx(), async |_| Ok::<_, LockError>("ran")));
        assert_eq!(ran.unwrap(), Some("ran"));
    };
    run();
    let connections = server.connections();
    run();
    run();
    assert_eq!(server.connections(), connections, "a connection is used again, whatever runtime asks");
}

#[test]
fn the_lease_is_kept_while_the_callers_runtime_is_blocked() {
    let server = Server::bucket();
    bare().block_on(async {
        let engine = Engine::gcs(config(&server)).await.unwrap();
        let work = async |ctx: Ctx| {
            let before = server.requests().len();
            #[expect(clippy::disallowed_methods, reason = "the very thing that must not matter")]
            std::thread::sleep(Duration::from_millis(10_700));
            assert_eq!(server.requests().len(), before + 1, "one heartbeat came through");
            ctx.check()
        };
        REINDEX.run(&engine.ctx(), work).await.unwrap();
    });
}

/// Runs [`with_credentials`] in a process whose credentials get their tokens from `server`; what it printed.
fn child(server: &Server, name: &str) -> String {
    let file =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.json", std::process::id()));
    let token_uri = format!("http://{}/token", server.address());
    let credentials = format!(
        r#"{{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r","token_uri":"{token_uri}"}}"#
    );
    std::fs::write(&file, credentials).unwrap();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "with_credentials", "--nocapture"])
        .env("GOOGLE_APPLICATION_CREDENTIALS", &file)
        .envs([("TAKO_ENV", "prod"), ("TAKO_PROJECT", "demo"), ("TAKO_APP", "gallery")])
        .env_remove("STORAGE_EMULATOR_HOST")
        .output()
        .unwrap();
    std::fs::remove_file(&file).unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
#[ignore = "a part of other tests, which run it in a process of its own"]
fn with_credentials() {
    // Found from the environment, outside of any runtime.
    let program = Engine::program();
    let config = GcsConfig {
        project: "demo".into(),
        app: "gallery".into(),
        env: "prod".into(),
        ..GcsConfig::default()
    };
    match bare().block_on(Engine::gcs(config)) {
        Ok(engine) => {
            #[expect(clippy::disallowed_methods, reason = "no runtime is left but the engine's")]
            std::thread::sleep(Duration::from_secs(11));
            println!("engine {}, program {}", engine.key("x").is_ok(), program.is_ok());
        }
        Err(error) => println!("refused: {error}"),
    }
}

#[test]
fn tokens_are_renewed_after_the_callers_runtime_has_ended() {
    let token = r#"{"access_token":"t","expires_in":1,"token_type":"Bearer"}"#;
    let server = Server::always(Answer::Text(200, token.into()));
    let told = child(&server, "renewed");
    assert!(told.contains("engine true, program true"), "{told}");
    // Two engines, and each has renewed a token that was good for a second. The client does so after ten.
    assert_eq!(server.requests().len(), 4, "{told}");
}

#[test]
fn credentials_that_are_not_valid_are_told_at_the_start() {
    let refused = r#"{"error":"invalid_grant","error_description":"Token has been revoked."}"#;
    let server = Server::always(Answer::Text(400, refused.into()));
    let told = child(&server, "revoked");
    assert!(
        told.contains("refused: asking for access to Google Cloud failed: the credentials are not valid"),
        "{told}"
    );
}

#[tokio::test]
async fn a_check_finds_a_fit_store_fit() {
    let server = Server::bucket();
    let engine = Engine::gcs(config(&server)).await.unwrap();
    let check = engine.check().await;
    assert_eq!(check.verdict(), Verdict::Fit, "{check}");
    assert!(check.fault().is_none());
    assert_eq!(check.round_trips().len(), 6, "{check}");
    assert!(check.clock_offset().is_some());
    assert!(check.to_string().starts_with("the store is fit to host leases"), "{check}");
    // Again, over the probe that is there.
    assert_eq!(engine.check().await.verdict(), Verdict::Fit);
}

#[tokio::test]
async fn a_check_says_what_is_wrong_with_a_store() {
    async fn check(server: &Server, verdict: Verdict) -> String {
        let check = Engine::gcs(config(server)).await.unwrap().check().await;
        assert_eq!(check.verdict(), verdict, "{check}");
        check.to_string()
    }
    let text = check(&Server::retained(), Verdict::Unfit).await;
    assert!(text.contains("writing over it failed") && text.contains("retention policy"), "{text}");
    let text = check(&Server::careless(), Verdict::Unfit).await;
    assert!(text.contains("does not compare and swap"), "{text}");
    let text = check(&Server::always(error(403, "forbidden")), Verdict::Unfit).await;
    assert!(text.contains("`roles/storage.objectUser`"), "{text}");
    let text = check(&Server::always(error(503, "backendError")), Verdict::Unsettled).await;
    assert!(text.starts_with("the store is not known to be fit"), "{text}");
}

#[tokio::test]
async fn windows_cost_what_the_guide_says() {
    let server = Server::bucket();
    let seen = std::cell::Cell::new(0);
    // Reads, writes of the record, and writes to learn the time, since the last count.
    let cost = || {
        let requests = server.requests().split_off(seen.get());
        seen.set(seen.get() + requests.len());
        let count = |what: fn(&str) -> bool| requests.iter().filter(|request| what(request)).count();
        let is_clock =
            |request: &str| request.starts_with("POST") && request.contains("name=leases%2Fclock-");
        let is_record = |request: &str| request.starts_with("POST") && request.contains("name=leases%2Frun-");
        (count(|request| request.starts_with("GET")), count(is_record), count(is_clock))
    };
    let engine = Engine::gcs(config(&server)).await.unwrap();
    let window = async |engine: &Engine| {
        REINDEX.try_run(&engine.ctx(), async |_| Ok::<_, LockError>(())).await.unwrap()
    };
    assert_eq!(cost(), (0, 0, 0), "an engine by itself asks nothing");
    window(&engine).await.unwrap();
    assert_eq!(cost(), (1, 2, 1), "the first window");
    window(&engine).await.unwrap();
    assert_eq!(cost(), (0, 2, 0), "the next");
    let other = Engine::gcs(config(&server)).await.unwrap();
    let contended = async |_| {
        cost();
        assert_eq!(window(&other).await, None);
        assert_eq!(
            cost(),
            (1, 0, 1),
            "somebody else holds it, and the process does not know the store's time yet"
        );
        assert_eq!(window(&other).await, None);
        assert_eq!(cost(), (1, 0, 0), "somebody else holds it");
        Ok::<_, LockError>(())
    };
    REINDEX.run(&engine.ctx(), contended).await.unwrap();
}
