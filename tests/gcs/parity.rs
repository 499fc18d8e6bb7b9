//! The double answers as the emulator does: the same requests to both, and what a client reads of the answers.

use serde_json::Value;
use tako::backend::{Extra, Fence, Key, LeaseBackend, Owner, Record, StoreTime, Swap, Token};
use tako_lock_tests::gcs_engine::lease;
use tako_lock_tests::gcs_server::Server;

/// What was asked and what came back, with generations by the order in which they first came up.
struct Talk {
    server: Server,
    lines: Vec<String>,
    generations: Vec<String>,
}

/// What a write expects.
#[derive(Debug, Clone, Copy)]
enum On {
    Nothing,
    /// Which of those so far.
    Generation(usize),
    Anything,
}

impl Talk {
    fn generation(&mut self, text: Option<&str>) -> String {
        let Some(text) = text else { return "none".into() };
        let known = self.generations.iter().position(|each| each == text);
        let place = known.unwrap_or_else(|| {
            self.generations.push(text.to_owned());
            self.generations.len() - 1
        });
        format!("g{place}")
    }

    async fn read(&mut self, bucket: &str, object: &str) {
        let target = format!("/storage/v1/b/{bucket}/o/{}?alt=media", object.replace('/', "%2F"));
        let answer = self.server.ask("GET", &target, "text/plain", b"").await;
        let mut told = String::new();
        if answer.status == 200 {
            let generation = self.generation(answer.header("x-goog-generation"));
            let (cached, hash) = (answer.header("cache-control"), answer.header("x-goog-hash"));
            let sum = hash.and_then(|hash| hash.split(',').find(|part| part.starts_with("crc32c=")));
            let body = String::from_utf8_lossy(answer.body());
            told = format!("{generation} {cached:?} {sum:?} {body}");
        }
        self.lines.push(format!("read {object} -> {} {told}", answer.status));
    }

    async fn write(&mut self, bucket: &str, object: &str, on: On, body: &str) {
        let condition = match on {
            On::Nothing => "&ifGenerationMatch=0".to_owned(),
            On::Generation(which) => format!("&ifGenerationMatch={}", self.generations[which]),
            On::Anything => String::new(),
        };
        let name = object.replace('/', "%2F");
        let target = format!("/upload/storage/v1/b/{bucket}/o?uploadType=multipart&name={name}{condition}");
        let metadata = format!(r#"{{"name":"{object}","bucket":"{bucket}","cacheControl":"no-store"}}"#);
        let form = format!(
            "--mark\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n{metadata}\r\n\
             --mark\r\ncontent-type: application/json\r\n\r\n{body}\r\n--mark--\r\n"
        );
        let kind = "multipart/related; boundary=mark";
        let answer = self.server.ask("POST", &target, kind, form.as_bytes()).await;
        let told = answer.json();
        let told = if answer.status == 200 {
            let fields = ["kind", "name", "bucket", "size", "crc32c", "cacheControl", "storageClass"];
            let fields = fields.map(|field| format!("{field}={}", told[field])).join(" ");
            let generation = self.generation(told["generation"].as_str());
            format!("{generation} {} {fields}", dated(&told["updated"]))
        } else {
            format!("code={}", told["error"]["code"])
        };
        self.lines.push(format!("write {object} on {on:?} -> {} {told}", answer.status));
    }

    async fn delete(&mut self, bucket: &str, object: &str) {
        let target = format!("/storage/v1/b/{bucket}/o/{}", object.replace('/', "%2F"));
        let answer = self.server.ask("DELETE", &target, "text/plain", b"").await;
        // 200 with a body of `null`, or 204 without: done.
        let told = if answer.status / 100 == 2 { "done".to_owned() } else { answer.status.to_string() };
        self.lines.push(format!("delete {object} -> {told}"));
    }
}

fn dated(updated: &Value) -> &'static str {
    let now = StoreTime::from(std::time::SystemTime::now());
    match serde_json::from_value::<StoreTime>(updated.clone()) {
        Ok(at) if at.since(now).max(now.since(at)).as_secs() < 60 => "dated now",
        Ok(_) => "dated otherwise",
        Err(_) => "not dated",
    }
}

async fn transcript(server: Server) -> Vec<String> {
    let mut talk = Talk { server, lines: Vec::new(), generations: Vec::new() };
    let (bucket, object) = ("tako-parity", "leases/run-gallery-pr--42-re--index");
    server.make_bucket(bucket).await;
    server.make_bucket(bucket).await;
    talk.delete(bucket, object).await;
    talk.lines.clear();

    talk.read(bucket, object).await;
    talk.read("tako-no-such-bucket", object).await;
    talk.write("tako-no-such-bucket", object, On::Nothing, "{}").await;
    talk.write(bucket, object, On::Nothing, r#"{"n":1}"#).await;
    talk.write(bucket, object, On::Nothing, r#"{"n":2}"#).await;
    talk.read(bucket, object).await;
    talk.write(bucket, object, On::Generation(0), r#"{"n":3}"#).await;
    talk.write(bucket, object, On::Generation(0), r#"{"n":4}"#).await;
    talk.read(bucket, object).await;
    // The same bytes again are another version.
    talk.write(bucket, object, On::Generation(1), r#"{"n":3}"#).await;
    talk.write(bucket, object, On::Anything, r#"{"n":5}"#).await;
    talk.read(bucket, object).await;
    talk.write(bucket, "leases/run-other", On::Generation(3), "{}").await;
    talk.delete(bucket, object).await;
    talk.delete(bucket, object).await;
    talk.read(bucket, object).await;
    talk.write(bucket, object, On::Generation(3), "{}").await;
    talk.write(bucket, object, On::Nothing, "").await;
    talk.read(bucket, object).await;
    talk.lines
}

/// The same by the real client, as the engine sees it.
async fn conversation(server: Server) -> Vec<String> {
    let bucket = format!("tako-parity-{}", std::process::id());
    server.make_bucket(&bucket).await;
    let (here, nowhere) =
        (lease(&server.endpoint(), &bucket), lease(&server.endpoint(), "tako-no-such-bucket"));
    let key = Key::new("leases/run-gallery-test-re--index", "gallery/test/re-index");
    let record = |fence| Record {
        owner: Owner::new("web#\u{fc}\"1"),
        expires: StoreTime::from_millis(1_900_000_000_123),
        fence: Fence::new(fence),
        lock: key.lock().clone(),
        mark: None,
        extra: Extra::NONE,
    };
    let mut lines = Vec::new();
    let mut tokens = Vec::new();
    lines.push(format!("{:?}", here.load(&key).await.map_err(|error| error.kind())));
    lines.push(format!("{:?}", nowhere.load(&key).await.map_err(|error| error.kind())));
    lines.push(format!("{:?}", nowhere.swap(&key, None, &record(1)).await.map_err(|error| error.kind())));
    lines.push(format!("{:?}", nowhere.now().await.map_err(|error| error.kind())));
    // On nothing, on the version before, on the present one.
    for (fence, on) in [(1, None), (2, None), (3, Some(0)), (4, Some(0)), (5, Some(1)), (5, Some(2))] {
        let on = on.map(|number: usize| Token::clone(&tokens[number]));
        match here.swap(&key, on.as_ref(), &record(fence)).await {
            Ok(Swap::Applied { token, at }) => {
                lines.push(format!(
                    "{fence}: applied, {}, fresh: {}",
                    at.is_some(),
                    !tokens.contains(&token)
                ));
                tokens.push(token);
            }
            other => lines.push(format!("{fence}: {other:?}")),
        }
        let stored = here.load(&key).await.expect("a read").expect("a record");
        let version = tokens.iter().position(|token| *token == stored.token);
        lines.push(format!("{version:?} {:?}", stored.record));
    }
    let now = here.now().await.expect("the time");
    lines.push(dated(&serde_json::Value::String(now.to_string())).into());
    lines
}

#[tokio::test]
async fn the_double_answers_as_the_emulator_does() {
    let double = transcript(Server::double()).await;
    assert_eq!(double.len(), 19, "{double:#?}");
    let Some(emulator) = Server::emulator() else { return crate::skipped() };
    compare(&double, &transcript(emulator).await);
}

#[tokio::test]
async fn the_client_is_answered_by_the_double_as_by_the_emulator() {
    let double = conversation(Server::double()).await;
    assert_eq!(double.len(), 17, "{double:#?}");
    let Some(emulator) = Server::emulator() else { return crate::skipped() };
    compare(&double, &conversation(emulator).await);
}

fn compare(double: &[String], emulator: &[String]) {
    for (number, (double, emulator)) in double.iter().zip(emulator).enumerate() {
        assert_eq!(double, emulator, "request {number}, the double first");
    }
    assert_eq!(double.len(), emulator.len());
}
