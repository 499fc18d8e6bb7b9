//! The double answers as the emulator does: the same requests to both, and what a client reads of the answers.

use serde_json::Value;
use tako::backend::StoreTime;
use tako_lock_tests::gcs_double::Answer;
use tako_lock_tests::gcs_server::Server;

/// What was asked and what came back, with generations by the order in which they first came up.
struct Talk {
    server: Server,
    lines: Vec<String>,
    generations: Vec<String>,
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

    async fn read(&mut self, bucket: &str, object: &str) -> Answer {
        let target = format!("/storage/v1/b/{bucket}/o/{}?alt=media", object.replace('/', "%2F"));
        let answer = self.server.ask("GET", &target, "text/plain", b"").await;
        let mut line = format!("read {object} -> {}", answer.status);
        if answer.status == 200 {
            let generation = self.generation(answer.header("x-goog-generation"));
            let (cached, hash) = (answer.header("cache-control"), answer.header("x-goog-hash"));
            let sum = hash.and_then(|hash| hash.split(',').find(|part| part.starts_with("crc32c=")));
            let body = String::from_utf8_lossy(answer.body());
            line += &format!(" {generation} {cached:?} {sum:?} {body}");
        }
        self.lines.push(line);
        answer
    }

    /// `expected`: which of the generations so far, `Some(None)` for none at all, `None` for any.
    async fn write(&mut self, bucket: &str, object: &str, expected: Option<Option<usize>>, body: &str) {
        let condition = expected.map(|which| {
            let number = which.map_or("0", |which| &self.generations[which]);
            format!("&ifGenerationMatch={number}")
        });
        let (name, condition) = (object.replace('/', "%2F"), condition.unwrap_or_default());
        let target = format!("/upload/storage/v1/b/{bucket}/o?uploadType=multipart&name={name}{condition}");
        let metadata = format!(r#"{{"name":"{object}","bucket":"{bucket}","cacheControl":"no-store"}}"#);
        let form = format!(
            "--mark\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n{metadata}\r\n\
             --mark\r\ncontent-type: application/json\r\n\r\n{body}\r\n--mark--\r\n"
        );
        let kind = "multipart/related; boundary=mark";
        let answer = self.server.ask("POST", &target, kind, form.as_bytes()).await;
        let told = answer.json();
        let mut line = format!("write {object} on {expected:?} -> {}", answer.status);
        if answer.status == 200 {
            line += &format!(" {} {}", self.generation(told["generation"].as_str()), dated(&told["updated"]));
            for field in ["kind", "name", "bucket", "size", "crc32c", "cacheControl", "storageClass"] {
                line += &format!(" {field}={}", told[field]);
            }
        } else {
            line += &format!(" code={}", told["error"]["code"]);
        }
        self.lines.push(line);
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
    talk.write("tako-no-such-bucket", object, Some(None), "{}").await;
    talk.write(bucket, object, Some(None), r#"{"n":1}"#).await;
    talk.write(bucket, object, Some(None), r#"{"n":2}"#).await;
    talk.read(bucket, object).await;
    talk.write(bucket, object, Some(Some(0)), r#"{"n":3}"#).await;
    talk.write(bucket, object, Some(Some(0)), r#"{"n":4}"#).await;
    talk.read(bucket, object).await;
    // The same bytes again are another version.
    talk.write(bucket, object, Some(Some(1)), r#"{"n":3}"#).await;
    talk.write(bucket, object, None, r#"{"n":5}"#).await;
    talk.read(bucket, object).await;
    talk.write(bucket, "leases/run-other", Some(Some(3)), "{}").await;
    talk.delete(bucket, object).await;
    talk.delete(bucket, object).await;
    talk.read(bucket, object).await;
    talk.write(bucket, object, Some(Some(3)), "{}").await;
    talk.write(bucket, object, Some(None), "").await;
    talk.read(bucket, object).await;
    talk.lines
}

#[tokio::test]
async fn the_double_answers_as_the_emulator_does() {
    let double = transcript(Server::double()).await;
    assert_eq!(double.len(), 19, "{double:#?}");
    let Some(emulator) = Server::emulator() else { return crate::skipped() };
    pretty(&double, &transcript(emulator).await);
}

fn pretty(double: &[String], emulator: &[String]) {
    for (number, (double, emulator)) in double.iter().zip(emulator).enumerate() {
        assert_eq!(double, emulator, "request {number}, the double first");
    }
    assert_eq!(double.len(), emulator.len());
}
