//! scontrol's lines: each that is not blank is a node or is set aside.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::slurm::ScontrolNode;

fuzz_target!(|data: &[u8]| {
    let (piece, text) = fuzz::piece_and_text(data);
    let parser = || ScontrolNode::new("maple", fuzz::time(), fuzz::HOLD);
    let parsed = fuzz::parse_in_pieces(parser, text, piece);
    fuzz::check_lines(&parsed, text);
    let lines = text.split(|&byte| byte == b'\n');
    let written = lines.filter(|line| !line.trim_ascii().is_empty()).count();
    assert_eq!(parsed.records.len() + parsed.rejects.len(), written);

    let line = [b"NodeName=a State=IDLE CPUTot=4 Gres=gpu:2 Reason=".as_slice(), text].concat();
    let node = &fuzz::parse_in_pieces(parser, &line, piece).records[0];
    assert_eq!((node.node.as_str(), node.state.as_str()), ("a", "IDLE"));
    assert_eq!((node.cpus, node.gpus), (Some(4), Some(2)), "a reason changes nothing before it");
});
