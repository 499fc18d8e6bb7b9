//! A small client of the service, for its demonstration and its tests.

use std::net::SocketAddr;

use anyhow::{Context as _, ensure};
use axum::body::Bytes;
use axum::http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::de::DeserializeOwned;

/// Speaks to one gallery. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    http: HttpClient<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
}

impl Client {
    /// A client of the gallery at `address`.
    pub fn new(address: SocketAddr) -> Client {
        Client { http: HttpClient::builder(TokioExecutor::new()).build_http(), address }
    }

    /// `GET path`.
    ///
    /// # Errors
    /// No answer, an answer that is an error, or another than a `T`.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.ask(Method::GET, path, Bytes::new()).await
    }

    /// `POST path`.
    ///
    /// # Errors
    /// As [`get`](Client::get).
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: Bytes) -> anyhow::Result<T> {
        self.ask(Method::POST, path, body).await
    }

    async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str, body: Bytes) -> anyhow::Result<T> {
        let (status, answer) = self.send(method, path, body).await?;
        let text = String::from_utf8_lossy(&answer);
        ensure!(status.is_success(), "`{path}` answered {status}: {text}");
        serde_json::from_slice(&answer).with_context(|| format!("`{path}` answered {text}"))
    }

    /// Any request, with any answer.
    ///
    /// # Errors
    /// No answer.
    pub async fn send(&self, method: Method, path: &str, body: Bytes) -> anyhow::Result<(StatusCode, Bytes)> {
        let uri = format!("http://{}{path}", self.address);
        let request = Request::builder().method(method).uri(&uri).body(Full::new(body))?;
        let answer =
            self.http.request(request).await.with_context(|| format!("`{uri}` cannot be reached"))?;
        let status = answer.status();
        Ok((status, answer.into_body().collect().await?.to_bytes()))
    }
}
