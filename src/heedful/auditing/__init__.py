"""The audit: may this model's attention be read as an explanation?"""
