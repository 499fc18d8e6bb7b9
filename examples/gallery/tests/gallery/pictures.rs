//! Real folders, with what is found in them.

use std::fs;

use axum::body::Bytes;
use axum::http::StatusCode;
use gallery::index::{Content, Photo};
use gallery::run::State;
use serde_json::json;

use crate::{House, a_picture, told};

async fn index(house: &House) -> Vec<Photo> {
    house.get("/photos").await
}

fn paths(photos: &[Photo]) -> Vec<&str> {
    photos.iter().map(|photo| &*photo.path).collect()
}

#[tokio::test]
async fn the_index_tells_format_size_and_hash() {
    let house = House::new();
    let (status, _) = house.post("/reindex").await;
    assert_eq!(status, StatusCode::OK);
    let photos = index(&house).await;
    assert_eq!(paths(&photos), ["dunes.bmp", "moon.jpg", "waves.gif"]);
    assert_eq!(
        serde_json::to_value(&photos[2]).unwrap(),
        json!({
            "path": "waves.gif", "format": "gif", "width": 80, "height": 60, "bytes": 1196,
            "sha256": "c233f4e2712c6f76595ad066ce023c2b92993bc98d25ff4ae6039f9820923318"
        })
    );
}

#[tokio::test]
async fn a_broken_picture_is_an_entry_and_no_failure() {
    let house = House::new();
    fs::write(house.photos().join("broken.png"), "no picture").unwrap();
    fs::write(house.photos().join("cut-off.png"), &a_picture()[..20]).unwrap();
    fs::write(house.photos().join("empty.gif"), "").unwrap();
    fs::write(house.photos().join("notes.txt"), "not even called a picture").unwrap();

    let (status, answer) = house.post("/reindex").await;

    assert_eq!((status, &answer["run"]["done"]), (StatusCode::OK, &json!(6)));
    let photos = index(&house).await;
    let broken: Vec<&Photo> =
        photos.iter().filter(|photo| matches!(photo.content, Content::Broken { .. })).collect();
    assert_eq!(
        broken.iter().map(|photo| &*photo.path).collect::<Vec<_>>(),
        ["broken.png", "cut-off.png", "empty.gif"]
    );
}

#[tokio::test]
async fn what_is_gone_from_the_folder_is_gone_from_the_index() {
    let house = House::new();
    house.post("/reindex").await;
    fs::remove_file(house.photos().join("moon.jpg")).unwrap();
    house.post("/reindex").await;
    assert_eq!(paths(&index(&house).await), ["dunes.bmp", "waves.gif"]);
}

#[tokio::test]
async fn a_folder_that_is_gone_fails_the_run_and_keeps_the_index() {
    let house = House::new();
    house.post("/reindex").await;
    fs::rename(house.photos(), house.folder.path().join("elsewhere")).unwrap();

    let (status, answer) = house.post("/reindex").await;

    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(told(&answer).starts_with("the folder of pictures cannot be read <- "), "{answer}");
    assert_eq!(house.runs().await[0].state, State::Failed);
    assert_eq!(index(&house).await.len(), 3);
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_followed_and_circles_are_reported() {
    use std::os::unix::fs::symlink;
    let house = House::new();
    fs::create_dir(house.photos().join("album")).unwrap();
    symlink(house.photos(), house.photos().join("album/circle")).unwrap();
    symlink(house.photos().join("moon.jpg"), house.photos().join("album/moon.jpg")).unwrap();
    symlink("nowhere", house.photos().join("album/dangling.png")).unwrap();

    assert_eq!(house.post("/reindex").await.0, StatusCode::OK);

    let photos = index(&house).await;
    assert_eq!(paths(&photos)[..3], ["album/circle", "album/dangling.png", "album/moon.jpg"]);
    assert!(matches!(photos[0].content, Content::Broken { .. }), "{:?}", photos[0]);
    assert!(matches!(photos[1].content, Content::Broken { .. }), "{:?}", photos[1]);
    assert!(matches!(photos[2].content, Content::Picture(_)), "{:?}", photos[2]);
}

#[tokio::test]
async fn an_import_is_stored_indexed_and_found_again() {
    let house = House::new();
    assert_eq!(house.import("sunset.png", a_picture()).await.0, StatusCode::OK);
    assert_eq!(fs::read(house.photos().join("imported/sunset.png")).unwrap(), a_picture());
    let imported = index(&house).await;
    assert_eq!(paths(&imported), ["imported/sunset.png"]);
    house.post("/reindex").await;
    assert!(index(&house).await.contains(&imported[0]));
}

#[tokio::test]
async fn what_cannot_be_imported_is_refused_with_a_reason() {
    let house = House::new();
    for name in ["..%2Fout.png", ".hidden.png", "a%20b.png", "noextension", "%00.png", "page.html", ""] {
        let (status, answer) = house.import(name, a_picture()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{name}: {answer}");
    }
    let (status, answer) = house.import("text.png", Bytes::from_static(b"no picture")).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        told(&answer).starts_with("`text.png` was not imported <- the file is not a picture"),
        "{answer}"
    );
    assert_eq!(house.runs().await, [], "all of these were refused before the lock");

    house.import("twice.png", a_picture()).await;
    let (status, answer) = house.import("twice.png", a_picture()).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    let (status, _) = house.post("/import").await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "without a name");
    let too_large = Bytes::from(vec![0; 16 * 1024 * 1024 + 1]);
    assert_eq!(house.import("large.png", too_large).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(house.post("/nowhere").await.0, StatusCode::NOT_FOUND);
    assert_eq!(house.post("/runs").await.0, StatusCode::METHOD_NOT_ALLOWED);
}
