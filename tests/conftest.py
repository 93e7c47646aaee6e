"""What the suite prints at its end."""


def pytest_terminal_summary(terminalreporter) -> None:
    """Tables that tests recorded with `record_property("table: TITLE", text)`, passed or not."""
    for status in ("passed", "failed"):
        for report in terminalreporter.stats.get(status, []):
            for name, text in getattr(report, "user_properties", ()):
                if name.startswith("table: "):
                    terminalreporter.section(name.removeprefix("table: "))
                    terminalreporter.write_line(text)
