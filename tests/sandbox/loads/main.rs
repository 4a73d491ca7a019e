// The loads in Rust; the first line of stdin names the one to play.
use std::sync::{Arc, Barrier};

static mut HELD: [u8; 256 << 20] = [0; 256 << 20];

fn depth(n: u32) -> u32 {
    let frame = std::hint::black_box([1u8; 64]);
    if n > 0 { frame[0] as u32 + depth(n - 1) } else { 0 }
}

fn main() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    match line.trim() {
        "threads" => {
            let barrier = Arc::new(Barrier::new(60));
            let all: Vec<_> = (0..60)
                .map(|_| { let barrier = barrier.clone(); std::thread::spawn(move || { let own = vec![1; 100]; barrier.wait(); own[0] }) })
                .collect();
            println!("threads {}", all.into_iter().map(|one| one.join().unwrap()).sum::<i32>());
        }
        "recursion" => println!("recursion {}", depth(30000)),
        "files" => {
            let all: Vec<_> = (0..100).map(|i| std::fs::File::create(format!("file{i}")).unwrap()).collect();
            println!("files {}", all.len());
        }
        "arrays" => unsafe {
            let held = &raw mut HELD as *mut u8;
            for i in 0..8 { held.add(i << 25).write_volatile(1); }
            println!("arrays {}", (0..8).map(|i| held.add(i << 25).read_volatile() as u32).sum::<u32>());
        },
        "small_files" => {
            std::fs::create_dir("folder").unwrap();
            let sizes = (0..300).map(|i| {
                let path = format!("folder/{i}");
                std::fs::write(&path, "x".repeat(100)).unwrap();
                std::fs::metadata(&path).unwrap().len()
            });
            println!("small_files {}", sizes.sum::<u64>());
        }
        _ => {}
    }
}
