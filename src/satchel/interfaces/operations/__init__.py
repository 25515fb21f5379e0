"""Operations: what can be asked of the store, each declared once, served as a tool and as a command."""
