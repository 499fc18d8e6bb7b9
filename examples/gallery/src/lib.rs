//! A picture gallery whose index is rebuilt by one instance at a time: `tako-lock` in a service to copy from.
//!
//! | request | lock | what a second caller gets |
//! | --- | --- | --- |
//! | `POST /reindex` | `"reindex"`, by `try_run` | `"started": false` and the run in progress: it collapses into it |
//! | `POST /import?name=NAME` | `"import"`, by attribute | its turn: it queues |
//! | `GET /photos`, `/runs`, `/locks` | none | reading needs no lock |
//!
//! Read [`jobs`] first: it is all that the locks ask of a service. [`ledger`] is the other half of the promise: a
//! database that refuses the writes of a run whose lease has passed on. [`serve`] is the shutdown that lets runs end.

pub mod app;
pub mod client;
pub mod demo;
pub mod index;
pub mod jobs;
pub mod ledger;
pub mod locks;
mod problem;
pub mod run;
pub mod serve;
