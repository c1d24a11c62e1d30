//! Who may ask what.

use std::os::unix::fs::PermissionsExt;
use std::{fs, net::Ipv4Addr};

use perk_web::{Options, Server, token_of_file};

use crate::client::{Served, testdata};

fn served() -> Served {
    Served::new(&[&testdata().join("collapsed/allocations.collapsed")])
}

#[test]
fn only_the_cookie_admits() {
    let served = served();
    assert_eq!(served.token.len(), 32);
    let path = "/api/sources";
    let request = |cookie: &str| {
        let address = &served.address;
        served.raw(
            format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{cookie}\r\n")
                .as_bytes(),
        )
    };
    assert_eq!(request(&format!("cookie: {}\r\n", served.cookie)).status, 200);
    assert_eq!(request(&format!("cookie: a=b; {}\r\n", served.cookie)).status, 200);
    let name = served.cookie.split('=').next().unwrap();
    for cookie in [
        String::new(),
        format!("cookie: {name}=\r\n"),
        // The token is not what the cookie holds.
        format!("cookie: {name}={}\r\n", served.token),
        format!("cookie: x{}\r\n", served.cookie),
        format!("authorization: Bearer {}\r\n", served.token),
    ] {
        let refused = request(&cookie);
        assert_eq!(refused.status, 401, "{cookie}");
        assert!(refused.json()["error"].as_str().unwrap().contains("perk serve printed"));
    }
    for path in ["/api/s1/report", "/api/s1/none", "/api/none", "/api/sources/"] {
        let address = &served.address;
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        assert_eq!(served.raw(request.as_bytes()).status, 401, "{path}");
    }
}

#[test]
fn a_session_needs_the_token() {
    let served = served();
    for wrong in ["", "x", &served.token[1..], &"0".repeat(32)] {
        let refused = served.post("/api/session", wrong);
        assert_eq!((refused.status, refused.header("set-cookie")), (401, None), "{wrong}");
    }
    let right = served.post("/api/session", &format!("{}\n", served.token));
    let cookie = right.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
    assert!(!right.head.contains(&served.token));
    assert_eq!(served.get("/api/session").status, 405);
    let long = served.post("/api/session", &"x".repeat(10 << 20));
    assert_eq!(long.status, 413);
}

#[test]
fn names_of_other_hosts_and_pages_of_other_servers_are_refused() {
    let served = served();
    let with = |host: &str, lines: &str| {
        let cookie = &served.cookie;
        served.raw(
            format!(
                "GET /api/sources HTTP/1.1\r\n{host}cookie: {cookie}\r\nconnection: close\r\n{lines}\r\n"
            )
            .as_bytes(),
        )
    };
    let own = format!("host: {}\r\n", served.address);
    assert_eq!(with(&own, "").status, 200);
    assert_eq!(with("host: localhost:9\r\n", "").status, 200);
    assert_eq!(with("host: evil.com\r\n", "").status, 403);
    assert_eq!(with("host: evil.com:80\r\n", "").status, 403);
    assert_eq!(with("host: 127.0.0.1.nip.io\r\n", "").status, 403);
    assert_eq!(with("", "").status, 400);
    assert_eq!(with(&format!("{own}host: evil.com\r\n"), "").status, 400);
    assert_eq!(with(&own, &format!("origin: http://{}\r\n", served.address)).status, 200);
    for origin in ["http://evil.com", "null", "https://127.0.0.1", "http://127.0.0.1:1"] {
        assert_eq!(with(&own, &format!("origin: {origin}\r\n")).status, 403, "{origin}");
    }
    assert_eq!(with(&own, "sec-fetch-site: same-origin\r\n").status, 200);
    for site in ["cross-site", "same-site"] {
        assert_eq!(with(&own, &format!("sec-fetch-site: {site}\r\n")).status, 403, "{site}");
    }
    // The page itself is for everybody who has an address of the machine.
    let page = served.raw(format!("GET / HTTP/1.1\r\n{own}connection: close\r\n\r\n").as_bytes());
    assert_eq!(page.status, 200);
    let page = served.raw(b"GET / HTTP/1.1\r\nhost: evil.com\r\nconnection: close\r\n\r\n");
    assert_eq!(page.status, 403);
}

#[test]
fn every_response_has_the_policy() {
    let served = served();
    let paths = [
        "/",
        "/s/s1/flame?x",
        "/assets/none",
        "/api/sources",
        "/api/s9/report",
        "/none",
        "/api/s1/none",
    ];
    for path in paths {
        let response = served.get(path);
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(response.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
        assert_eq!(response.header("access-control-allow-origin"), None, "{path}");
    }
    let page = served.get("/").text();
    assert!(!page.contains("<script>") && !page.contains("style="), "{page}");
}

#[test]
fn other_addresses_need_a_token_of_a_file() {
    let options =
        |token| Options { host: Ipv4Addr::UNSPECIFIED.into(), token, ..Options::default() };
    let line = Server::bind(options(None)).unwrap_err().to_string();
    assert!(line.contains("--token-file"), "{line}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, format!("{}\n", "a1".repeat(16))).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let line = token_of_file(&file).unwrap_err().to_string();
    assert!(line.starts_with("others may read ") && line.contains("chmod 600"), "{line}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let token = token_of_file(&file).unwrap();
    let served = Served::with(options(Some(token.clone())));
    assert_eq!(served.token, token);
    assert_eq!(served.get("/api/sources").status, 200);
    for bad in ["", "short", "with a blank in the middle of the whole token"] {
        fs::write(&file, bad).unwrap();
        let line = token_of_file(&file).unwrap_err().to_string();
        assert!(line.contains("openssl rand"), "{line}");
    }
    assert!(token_of_file(folder.path()).unwrap_err().to_string().contains("no file with a token"));
}
