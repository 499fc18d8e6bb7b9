//! Errors as HTTP tells them.

use std::error::Error;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tako::LockError;

use crate::jobs::JobError;
use crate::ledger::LedgerError;

/// An answer that is an error: `{"error": …, "causes": […]}`, from what happened down to why.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    #[serde(skip)]
    status: StatusCode,
    error: String,
    causes: Vec<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Problem {
        Problem { status, error: error.into(), causes: Vec::new() }
    }

    fn of(status: StatusCode, error: &dyn Error) -> Problem {
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        let causes: Vec<String> = causes.map(ToString::to_string).collect();
        // The others are the caller's to mend, or pass by themselves.
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!(%status, %error, ?causes, "request failed");
        }
        Problem { status, error: error.to_string(), causes }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}

impl From<JobError> for Problem {
    fn from(error: JobError) -> Problem {
        let status = match &error {
            JobError::Lock(error) => lock_status(error),
            JobError::Ledger(error) => ledger_status(error),
            JobError::BadName(_) => StatusCode::BAD_REQUEST,
            JobError::NotAPicture { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            JobError::Exists(_) => StatusCode::CONFLICT,
            JobError::Folder(_) | JobError::Store(_) | JobError::NotHeld | JobError::Died(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        Problem::of(status, &error)
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Problem {
        Problem::of(ledger_status(&error), &error)
    }
}

impl From<LockError> for Problem {
    fn from(error: LockError) -> Problem {
        Problem::of(lock_status(&error), &error)
    }
}

/// Whether it helps to ask again decides: 503 says yes, 409 says that somebody else has done it meanwhile, 500 says
/// that a person has to look.
fn lock_status(error: &LockError) -> StatusCode {
    match error {
        LockError::Cancelled(_) | LockError::ShuttingDown { .. } | LockError::Unavailable { .. } => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        LockError::Lost(_) => StatusCode::CONFLICT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn ledger_status(error: &LedgerError) -> StatusCode {
    match error {
        LedgerError::StaleFence { .. } => StatusCode::CONFLICT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
