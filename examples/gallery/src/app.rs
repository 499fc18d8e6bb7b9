//! The requests.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{StatusCode, Uri};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

use crate::index::Photo;
use crate::jobs::{self, Gallery, JobError, Upload};
use crate::locks::{self, LockStatus};
use crate::problem::Problem;
use crate::run::{Kind, Run};

/// The largest picture that is taken in. Imports wait with theirs in memory.
const UPLOAD_LIMIT: usize = 16 * 1024 * 1024;
/// How long an import may take, its wait in the queue included. Nobody waits for an answer for ever.
const IMPORT_LIMIT: Duration = Duration::from_mins(1);

/// What `POST /reindex` answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReindexAnswer {
    /// Whether this request started the run.
    pub started: bool,
    /// The run: done, when this request started it; otherwise the one under way, to be followed at `GET /runs`, or
    /// nothing in the moment before its holder has written it down.
    pub run: Option<Run>,
}

/// The service over one gallery.
pub fn router(gallery: Arc<Gallery>) -> Router {
    Router::new()
        .route("/reindex", post(reindex))
        .route("/import", post(import).layer(DefaultBodyLimit::max(UPLOAD_LIMIT)))
        .route("/photos", get(photos))
        .route("/runs", get(runs))
        .route("/locks", get(locks))
        .fallback(async |uri: Uri| {
            Problem::new(StatusCode::NOT_FOUND, format!("nothing is at `{}`", uri.path()))
        })
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "jobs are started with POST, and read with GET")
        })
        .with_state(gallery)
}

type Answer<T> = Result<T, Problem>;

async fn reindex(State(gallery): State<Arc<Gallery>>) -> Answer<(StatusCode, Json<ReindexAnswer>)> {
    let ctx = gallery.engine.ctx();
    let job = {
        let gallery = gallery.clone();
        detached(async move { jobs::reindex(&ctx, &gallery).await })
    };
    if let Some(run) = job.await? {
        return Ok((StatusCode::OK, Json(ReindexAnswer { started: true, run: Some(run) })));
    }
    let run = gallery.ledger.running(Kind::Reindex).await?;
    Ok((StatusCode::ACCEPTED, Json(ReindexAnswer { started: false, run })))
}

#[derive(Deserialize)]
struct ImportQuery {
    name: String,
}

async fn import(
    State(gallery): State<Arc<Gallery>>,
    query: Result<Query<ImportQuery>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Answer<Json<Run>> {
    let Query(ImportQuery { name }) =
        query.map_err(|rejection| Problem::new(rejection.status(), rejection.body_text()))?;
    let bytes = body.map_err(|rejection| Problem::new(rejection.status(), rejection.body_text()))?;
    let upload = Upload::read(name, bytes.into()).await?;
    let ctx = gallery.engine.ctx().with_timeout(IMPORT_LIMIT);
    Ok(Json(detached(async move { jobs::import(ctx, &gallery, upload).await }).await?))
}

async fn photos(State(gallery): State<Arc<Gallery>>) -> Answer<Json<Vec<Photo>>> {
    Ok(Json(gallery.ledger.photos().await?))
}

async fn runs(State(gallery): State<Arc<Gallery>>) -> Answer<Json<Vec<Run>>> {
    Ok(Json(gallery.ledger.runs().await?))
}

async fn locks(State(gallery): State<Arc<Gallery>>) -> Answer<Json<Vec<LockStatus>>> {
    Ok(Json(locks::status(&gallery.engine).await?))
}

/// Lets a job outlive its request. A caller that hangs up drops its handler, and would end a run that others have
/// collapsed into.
async fn detached<T: Send + 'static>(
    job: impl Future<Output = Result<T, JobError>> + Send + 'static,
) -> Result<T, JobError> {
    tokio::spawn(job).await?
}
