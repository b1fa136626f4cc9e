"""The papers' other instruments: gradient flow, word scores, information, projections, …"""
