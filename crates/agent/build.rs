//! Links functions with the same code once, for the size of the library. Rust's own linker for this
//! target can do that; that of others may not.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|it| it == "x86_64") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--icf=all");
    }
}
