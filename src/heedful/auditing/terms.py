"""Every term of an audit in one plain sentence, for somebody who has read no paper.

The report, the page, `heedful list terms` and the glossary of the docs all read this table.
"""

QUESTIONS = {
    "decisive": "Whether the prediction changes when the attention is moved to other words.",
    "exclusive": "Whether a very different attention would have given the same prediction.",
    "agreeing": "Whether attention ranks the words as other measures of importance do.",
    "telling": "Whether the decision is lost when the highlighted words are deleted, and kept when "
    "only they are left.",
    "grounded": "Whether what the model knows at a word is still about that word, and not about "
    "its neighbours.",
    "leak-free": "Whether attention chooses words for what they say, instead of using its choice "
    "of words as a secret sign for the label.",
    "discerning": "Whether words that are typical of a label get more attention than neutral ones.",
    "needed": "Whether the model would be less accurate if its attention were spread evenly.",
    "stable": "Whether the same model, trained once more from another random start, would "
    "highlight the same words.",
    "plausible": "Whether attention highlights the words that people marked as the reason.",
}

ANSWERS = {
    "supported": "The test was passed: the whole interval of the score lies above the cut.",
    "contradicted": "The test was failed: the whole interval of the score lies below the cut.",
    "undecided": "The documents do not decide: the interval of the score includes the cut, or the "
    "test cannot separate good from bad here.",
    "reported": "Measured and shown, but not judged: nobody knows yet which score is good enough.",
    "not asked": "The data or the model cannot answer this question; it never counts as passed.",
}

NUMBERS = {
    "attention": "A number for each word of a text, all together 1, which says how strongly the "
    "model reads that word.",
    "heat map": "The text with each word coloured by its number; also called the picture.",
    "false picture": "A heat map whose highlighted words matter less than half as much to the "
    "decision as the best words that were found for the same text, or which hides words that "
    "decide.",
    "silent document": "A text whose decision stays the same whichever words are deleted, so that "
    "no heat map of it is true or false.",
    "value": "What a test measured, averaged over the documents.",
    "floor": "What an explanation that is known to be worthless, such as random weights, gets in "
    "the same test on the same documents.",
    "ceiling": "What the best explanation that was found gets in the same test on the same "
    "documents.",
    "score": "Where the value lies on a scale from the floor, 0, to the ceiling, 1.",
    "interval": "The range in which the score would lie in 95 of 100 audits of other documents of "
    "the same kind; more documents make it narrower.",
    "cut": "The score that separates passed from failed, measured on models that are known to be "
    "honest or not.",
    "tolerated share": "The share of documents that may have a false picture; 15% unless "
    "--tolerate says otherwise.",
    "zoo": "The models that are known to be honest or not, because they were built that way; the "
    "cuts were measured on them.",
    "catches, false alarms": "Of the models in the zoo, the share of bad ones that a test finds, "
    "and the share of good ones that it accuses.",
    "deep audit": "An audit that also trains about twenty variants of the model, for the questions "
    "that need them.",
    "reading": "A way to get one number per word out of a model that has many attention weights, "
    "or none.",
    "signed": "A signed measure says of each word whether it speaks for the prediction or against "
    "it; attention is not signed.",
    "JSD": "The distance between two ways to spread attention: 0 if they are the same, 0.69 if "
    "they have no word in common.",
    "epsilon-max JSD": "How far attention can be moved to other words while the prediction stays "
    "nearly the same.",
    "TVD": "How far two predictions differ: 0 if they are the same, 1 if each is sure of something "
    "else.",
    "permutation": "The weights of a text are shuffled among its words; the test looks at how far "
    "the prediction moves.",
    "look away": "All attention is moved to the words that matter least; the test looks at how "
    "much of the decision is left.",
    "word choice": "The test looks at whether the word with the most weight gives the label away "
    "although the word itself says nothing.",
    "comprehensiveness": "How far the probability of the prediction falls when the highlighted "
    "words are deleted.",
    "sufficiency": "How far the probability of the prediction falls when only the highlighted "
    "words are left; small is good.",
    "leave-one-out": "The importance of a word, measured by deleting it and looking at how far the "
    "probability falls.",
    "log-odds": "How sure a model is, on a scale without ends, so that a step near certainty "
    "counts as much as one near doubt.",
}  # fmt: skip

TERMS = {**QUESTIONS, **ANSWERS, **NUMBERS}
