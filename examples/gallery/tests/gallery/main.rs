//! The gallery from outside. Every test has an engine, a ledger and a folder of its own, so all run side by side;
//! those on paused time wait for nothing.

mod coordination;
mod ledger;
#[cfg(all(unix, feature = "gcs"))]
mod pair;
mod pictures;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod program;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Method, Request, StatusCode};
use gallery::app::router;
use gallery::demo::PHOTOS;
use gallery::jobs::Gallery;
use gallery::ledger::Ledger;
use gallery::run::Run;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tako::Engine;
use tempfile::TempDir;
use tower::ServiceExt;

/// Paused time gets there at once, so that a request that would wait for ever is a failure and no hang.
const LIMIT: Duration = Duration::from_mins(10);

/// A gallery of three pictures.
#[derive(Clone)]
struct House {
    gallery: Arc<Gallery>,
    folder: Arc<TempDir>,
}

impl House {
    fn new() -> House {
        House::on(Engine::memory(), Duration::ZERO)
    }

    /// Rests for `pace` after each picture: of the test's time, where that is paused.
    fn slow(pace: Duration) -> House {
        House::on(Engine::memory(), pace)
    }

    fn on(engine: Engine, pace: Duration) -> House {
        let folder = tempfile::tempdir().unwrap();
        let photos = folder.path().join("photos");
        std::fs::create_dir(&photos).unwrap();
        for picture in ["land/dunes.bmp", "sea/waves.gif", "sky/moon.jpg"] {
            let from = Path::new(PHOTOS).join(picture);
            std::fs::copy(&from, photos.join(from.file_name().unwrap())).unwrap();
        }
        let ledger = Ledger::open(&folder.path().join("ledger.redb")).unwrap();
        House { gallery: Arc::new(Gallery { engine, ledger, photos, pace }), folder: Arc::new(folder) }
    }

    fn photos(&self) -> &Path {
        &self.gallery.photos
    }

    async fn send(&self, method: Method, path: &str, body: Bytes) -> (StatusCode, Value) {
        let request = Request::builder().method(method).uri(path).body(Body::from(body)).unwrap();
        let answer = router(self.gallery.clone()).oneshot(request);
        let answer = tokio::time::timeout(LIMIT, answer).await.expect("no answer").unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }

    async fn post(&self, path: &str) -> (StatusCode, Value) {
        self.send(Method::POST, path, Bytes::new()).await
    }

    async fn import(&self, name: &str, picture: Bytes) -> (StatusCode, Value) {
        self.send(Method::POST, &format!("/import?name={name}"), picture).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> T {
        let (status, answer) = self.send(Method::GET, path, Bytes::new()).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        serde_json::from_value(answer).unwrap()
    }

    async fn runs(&self) -> Vec<Run> {
        self.get("/runs").await
    }

    /// Waits until a run has looked at its first picture.
    async fn run_under_way(&self) -> Run {
        loop {
            if let Some(run) =
                self.runs().await.into_iter().find(|run| run.finished.is_none() && run.done > 0)
            {
                return run;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn a_picture() -> Bytes {
    std::fs::read(Path::new(PHOTOS).join("sky/sunset.png")).unwrap().into()
}

/// All that an error tells, as one text.
fn told(answer: &Value) -> String {
    let causes = answer["causes"].as_array().unwrap().iter().map(|cause| cause.as_str().unwrap());
    std::iter::once(answer["error"].as_str().unwrap()).chain(causes).collect::<Vec<_>>().join(" <- ")
}
