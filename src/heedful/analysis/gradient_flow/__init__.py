"""Sun & Lu's terms of gradient flow: of formulas, of models, along a training."""
