"""The fields each API takes at the top of a request; any other is refused. A test holds them to the published types."""

from __future__ import annotations

__all__ = ["ANTHROPIC", "ANTHROPIC_BETA", "COHERE", "GEMINI", "GEMINI_GENERATION", "OPENAI_CHAT", "OPENAI_RESPONSES"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OPENAI_CHAT = _words("""
    audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages
    metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
    prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier
    stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options
""")
OPENAI_RESPONSES = _words("""
    access_programs background context_management conversation image include input instructions max_output_tokens
    max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key
    prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options
    temperature text tool_choice tools top_logprobs top_p truncation user
""")
# The service takes temperature, top_p and top_k for the models that have them; its newest types do not list them.
ANTHROPIC = _words("""
    cache_control container diagnostics inference_geo max_tokens messages metadata model output_config service_tier
    speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p user_profile_id workspace_id
""")
ANTHROPIC_BETA = _words("betas context_management fallbacks mcp_servers output_format")
GEMINI = _words("""
    cachedContent contents continuationToken generationConfig labels model safetySettings serviceTier store
    systemInstruction toolConfig tools
""")
GEMINI_GENERATION = _words("""
    audioTimestamp audioTranscriptionConfig candidateCount enableAffectiveDialog enableEnhancedCivicAnswers
    frequencyPenalty imageConfig logprobs maxOutputTokens mediaResolution presencePenalty responseFormat
    responseJsonSchema responseLogprobs responseMimeType responseModalities responseSchema seed speechConfig
    stopSequences temperature thinkingConfig topK topP
""")
COHERE = _words("""
    citation_options documents frequency_penalty k logprobs max_tokens messages model p presence_penalty priority
    response_format safety_mode seed stop_sequences stream strict_tools temperature thinking tool_choice tools
""")
