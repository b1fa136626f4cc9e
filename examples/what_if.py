"""What if attention were different? The second half of a forward pass takes any weights.

    python examples/what_if.py

Trains on a made-up corpus whose evidence is known, then asks the model to decide with its own
weights, with uniform ones, and with everything on one word.
"""

import torch

import heedful


def main() -> None:
    """Print the probability of the predicted label under three attentions."""
    corpus = heedful.load("planted:documents=2000")
    classifier = heedful.Classifier(
        encoder="embedding",
        alignment="dot:scale=10.0",
        optimizer="adam:learning_rate=0.02",
        split=corpus.split,
        recipe="standard:epochs=6",
    )
    classifier.fit(corpus.train.texts, corpus.train.labels)
    document = corpus.test[0]
    print(f"accuracy {classifier.score(corpus.test.texts, corpus.test.labels):.3f}")
    print(f"text: {document.text}\nlabel: {document.label}")

    model = classifier.model_
    batch = next(classifier.trained_.batches([document.text]).by_length())
    with torch.no_grad():
        trace = model(batch)
        predicted = int(trace.logits.argmax())
        uniform = torch.full_like(trace.weights, 1 / trace.weights.shape[1])
        on_least = torch.zeros_like(trace.weights)
        on_least[0, trace.weights[0].argmin()] = 1.0
        attentions = {"its own": trace.weights, "uniform": uniform, "all on the least": on_least}
        for name, weights in attentions.items():
            probability = model.decide(trace.hidden, weights).softmax(dim=-1)[0, predicted]
            print(f"{name:>16}: {classifier.classes_[predicted]} {probability:.3f}")


if __name__ == "__main__":
    main()
