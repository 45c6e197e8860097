//! The words of shell commands, as far as scripts use them.

/// Splits a line into commands and words. Redirections of messages are left out, and so is what
/// follows a hash.
pub fn split(line: &str) -> Vec<Vec<String>> {
    let mut all = vec![vec![]];
    let (mut word, mut quote, mut depth, mut is_word) = (String::new(), None, 0_u32, false);
    let end = |word: &mut String, is_word: &mut bool, all: &mut Vec<Vec<String>>| {
        if std::mem::take(is_word) {
            all.last_mut()
                .expect("a command")
                .push(std::mem::take(word));
        }
    };
    for c in line.chars() {
        match (quote, c) {
            (None, '"' | '\'') => (quote, is_word) = (Some(c), true),
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '(') => {
                depth += 1;
                word.push(c);
            }
            (None, ')') => {
                depth = depth.saturating_sub(1);
                word.push(c);
            }
            (None, '#') if !is_word => break,
            (None, ';' | '&' | '|') if depth == 0 && !word.ends_with('>') => {
                end(&mut word, &mut is_word, &mut all);
                all.push(vec![]);
            }
            (None, c) if c.is_whitespace() && depth == 0 => end(&mut word, &mut is_word, &mut all),
            (None, c) => {
                word.push(c);
                is_word = true;
            }
        }
    }
    end(&mut word, &mut is_word, &mut all);
    for command in &mut all {
        // "> /dev/null 2>&1" and the like
        let mut kept: Vec<String> = vec![];
        let mut words = std::mem::take(command).into_iter();
        while let Some(word) = words.next() {
            if word == ">" {
                match words.next() {
                    Some(file) if file == "/dev/null" => {}
                    Some(file) => kept.extend([word, file]),
                    None => {}
                }
            } else if !word.starts_with("2>") {
                kept.push(word);
            }
        }
        *command = kept;
    }
    all.retain(|command| !command.is_empty());
    all
}

/// Replaces the products of a value, such as $((15*1024*1024)), by their results.
pub fn product(value: &str) -> String {
    let mut out = String::new();
    let mut rest = value;
    while let Some(at) = rest.find("$((") {
        let after = &rest[at + 3..];
        let Some(end) = after.find("))") else { break };
        let factors = after[..end]
            .split('*')
            .map(|factor| factor.trim().parse::<u64>().ok());
        let Some(result) = factors.reduce(|a, b| a?.checked_mul(b?)).flatten() else {
            break;
        };
        out.push_str(&rest[..at]);
        out.push_str(&result.to_string());
        rest = &after[end + 2..];
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_commands_are_split_as_a_shell_does() {
        let line = r#"sysctl -q a.b="1 2 $((3*4))"; tc qdisc add dev tun0 root pfifo > /dev/null 2>&1 # why"#;
        let commands = split(line);
        assert_eq!(commands[0], ["sysctl", "-q", "a.b=1 2 $((3*4))"]);
        assert_eq!(
            commands[1],
            ["tc", "qdisc", "add", "dev", "tun0", "root", "pfifo"]
        );
        assert_eq!(commands.len(), 2);
        assert_eq!(product("1 2 $((3*4))"), "1 2 12");
    }
}
