"""Operations: the actions on a store, each declared once and served as a tool and a command."""
