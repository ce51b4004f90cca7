"""The document that an auditor signs: one page that opens offline and prints on A4.

audit_page.py puts everything into audit.html: what was trained on whose data, every parameter, each
guarantee with what it assumes and what it does not cover, digests, versions and the command.
"""
