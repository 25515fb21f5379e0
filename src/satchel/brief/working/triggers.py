"""Words without which a prompt states no lasting rule: a cheap check before the patterns are loaded."""

from __future__ import annotations

_TRIGGERS = tuple(
    (
        "always|never|ever |ever.|from now|from here|from today|forward|future|next time|rule|policy|convention|"
        "remember|in mind|whenever|each time|every|exceptions|no circumstances|project|repo|codebase|code base|must|"
        "mandatory|forbidden|we |prefer|all new|"
        "immer|nie|künftig|zukunft|ab jetzt|ab sofort|ab heute|von nun|grundsätzlich|bei uns|merk|regel|hier|jedes mal|"
        "projekt|toujours|jamais|désormais|dorénavant|avenir|maintenant|chez nous|retiens|règle|préfère|chaque fois|"
        "projet|dépôt|doivent|siempre|nunca|jamás|ahora|adelante|recuerda|regla|norma|cada vez|prefiero|proyecto|"
        "vuelvas|aquí|deben"
    ).split("|")
)


def may_state_rule(prompt: str) -> bool:
    lower = prompt.lower()
    return any(trigger in lower for trigger in _TRIGGERS)
