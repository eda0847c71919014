(* From the noise to what is released: a run draws fresh randomness in each step and releases something that depends on
   the data, on all earlier releases and on that randomness. If each release has a density with a bounded Renyi moment
   whatever the past, no test of all releases together tells the two data sets apart beyond (eps, delta). *)

From Coq Require Import Reals Lra Lia List FunctionalExtensionality.
From DPADMM Require Import Integral HockeyStick Profiles Composition Renyi Lattice.
Import ListNotations.
Open Scope R_scope.

(* The expected value of f over T steps of fresh, independent randomness; draw is the expected value over one step.
   Lists are newest first. *)
Fixpoint over_steps {Y} (draw : (Y -> R) -> R) (T : nat) (h : list Y) (f : list Y -> R) : R :=
  match T with O => f h | S T' => draw (fun y => over_steps draw T' (y :: h) f) end.

(* All releases of a run, out being one release, given those before it and the randomness of the step. *)
Fixpoint released {X Y} (out : list X -> Y -> X) (h : list Y) : list X :=
  match h with [] => [] | y :: h' => out (released out h') y :: released out h' end.

(* The expected value of F over k further releases of densities p. *)
Fixpoint ahead {X} (I : integral X) (p : list X -> X -> R) (k : nat) (r : list X) (F : list X -> R) : R :=
  match k with O => F r | S k' => int I (fun x => p r x * ahead I p k' (x :: r) F) end.

Lemma released_length {X Y} (out : list X -> Y -> X) h : length (released out h) = length h.
Proof. induction h; simpl; congruence. Qed.

Lemma over_steps_ext {Y} (draw : (Y -> R) -> R) (good : Y -> Prop) T h f g :
  (forall u v, (forall y, good y -> u y = v y) -> draw u = draw v) ->
  Forall good h -> (forall h, Forall good h -> f h = g h) -> over_steps draw T h f = over_steps draw T h g.
Proof.
  intros D. revert h; induction T as [ | T IH ]; intros h Hh H; simpl; [ now apply H | ].
  apply D. intros y Hy. apply IH; [ now constructor | assumption ].
Qed.

Section Transfer.
  Context {X Y : Type} (I : integral X) (HI : complete I).
  Variables (p : list X -> X -> R) (F : list X -> R).
  Hypothesis Dp : forall h, density I (p h).
  Hypothesis HF : forall r, 0 <= F r <= 1.

  Lemma weighted_intg r g : (forall x, 0 <= g x <= 1) -> intg I (fun x => p r x * g x).
  Proof.
    intro Hg. destruct (Dp r) as (P0 & P1 & _). apply (HI _ (p r)); [ | exact P1 ].
    intro x. pose proof (P0 x); pose proof (Hg x). rewrite Rabs_right by (apply Rle_ge; nra). nra.
  Qed.

  Lemma ahead_bounds k r : 0 <= ahead I p k r F <= 1.
  Proof.
    revert r; induction k as [ | k IH ]; intro r; simpl; [ apply HF | ]. destruct (Dp r) as (P0 & P1 & P2).
    pose proof (weighted_intg r (fun x => ahead I p k (x :: r) F) (fun x => IH (x :: r))) as W. split.
    - apply (int_nonneg _ I); [ exact W | ]. intro x. apply Rmult_le_pos; [ apply P0 | apply IH ].
    - rewrite <- P2. apply int_le; [ exact W | exact P1 | ]. intro x. pose proof (P0 x). pose proof (IH (x :: r)). nra.
  Qed.

  Lemma over_steps_ahead (draw : (Y -> R) -> R) (out : list X -> Y -> X) :
    (forall r g, (forall x, 0 <= g x <= 1) -> draw (fun y => g (out r y)) = int I (fun x => p r x * g x)) ->
    forall k h, over_steps draw k h (fun n => F (released out n)) = ahead I p k (released out h) F.
  Proof.
    intro H. induction k as [ | k IH ]; intro h; simpl; [ reflexivity | ].
    rewrite <- H by (intro; apply ahead_bounds). f_equal. apply functional_extensionality. intro y. apply IH.
  Qed.

  Lemma ahead_joint k r : joint p r * ahead I p k r F = iterated I k r (fun r => joint p r * F r).
  Proof.
    revert r; induction k as [ | k IH ]; intro r; simpl; [ reflexivity | ].
    rewrite <- (int_scal I) by (apply weighted_intg; intro; apply ahead_bounds).
    f_equal. apply functional_extensionality. intro x. rewrite <- IH. simpl. ring.
  Qed.
End Transfer.

(* Where domination is enough, the inner integrals exist if each multiplies by a bounded factor. *)
Lemma sections_dominated {X} (I : integral X) (f F : list X -> R) (c : nat -> R) : complete I ->
  (forall n, 0 <= c n) -> (forall h, 0 <= f h <= F h) ->
  (forall h, intg I (fun x => F (x :: h)) /\ int I (fun x => F (x :: h)) <= c (length h) * F h) ->
  forall T, sections I T f.
Proof.
  intros HI Hc H HF.
  assert (Main : forall k n, exists B, 0 <= B /\ forall h, length h = n ->
    0 <= iterated I k h f <= B * F h /\ intg I (fun x => iterated I k (x :: h) f)).
  { induction k as [ | k IH ]; intro n.
    - exists 1. split; [ lra | ]. intros h _. simpl. split; [ rewrite Rmult_1_l; apply H | ].
      apply (HI _ (fun x => F (x :: h))); [ | apply HF ]. intro x. rewrite Rabs_right by (apply Rle_ge, H). apply H.
    - destruct (IH (S n)) as (B & HB & Bound). destruct (IH (S (S n))) as (B2 & HB2 & Bound2).
      assert (Next : forall h, length h = n -> 0 <= iterated I (S k) h f <= B * c n * F h).
      { intros h Hh. simpl iterated.
        assert (Sec : intg I (fun x => iterated I k (x :: h) f)) by (destruct (IH n) as (B0 & _ & Q); now apply Q).
        split.
        - apply (int_nonneg _ I); [ exact Sec | ]. intro x. apply Bound. simpl; lia.
        - apply Rle_trans with (int I (fun x => B * F (x :: h))).
          + apply int_le; [ exact Sec | apply intg_scal, HF | ]. intro x. apply Bound. simpl; lia.
          + rewrite (int_scal I B (fun x => F (x :: h))) by apply HF. rewrite Rmult_assoc. apply Rmult_le_compat_l; [ exact HB | ].
            rewrite <- Hh. apply HF. }
      exists (B * c n). split; [ now apply Rmult_le_pos | ]. intros h Hh. split; [ now apply Next | ].
      apply (HI _ (fun x => B2 * c (S n) * F (x :: h))); [ | apply intg_scal, HF ]. intro x. simpl iterated.
      assert (Sec : intg I (fun x' => iterated I k (x' :: x :: h) f))
        by (destruct (IH (S n)) as (B0 & _ & Q); apply Q; simpl; lia).
      assert (Up : iterated I (S k) (x :: h) f <= B2 * c (S n) * F (x :: h)).
      { simpl iterated. apply Rle_trans with (int I (fun x' => B2 * F (x' :: x :: h))).
        - apply int_le; [ exact Sec | apply intg_scal, HF | ]. intro x'. apply Bound2. simpl; lia.
        - rewrite (int_scal I B2 (fun x' => F (x' :: x :: h))) by apply HF. rewrite Rmult_assoc. apply Rmult_le_compat_l; [ exact HB2 | ].
          replace (S n) with (length (x :: h)) by (simpl; lia). apply HF. }
      rewrite Rabs_right; [ exact Up | ]. apply Rle_ge, (int_nonneg _ I); [ exact Sec | ].
      intro x'. apply Bound2. simpl; lia. }
  intros T k h Hk. destruct (Main k (length h)) as (B & _ & Q). now apply Q.
Qed.

(* The two conversions of a Renyi bound rho of order a: Proposition 1 as printed, and the better one. *)
Definition printed_epsilon (a rho delta : R) : R := rho + ln (1 / delta) / (a - 1).
Definition improved_epsilon (a rho delta : R) : R := rho + ln ((a - 1) / a) - (ln delta + ln a) / (a - 1).

(** Settles: COMPOSITION, LEMMA-3, PROPOSITION-1. Adaptive releases of bounded Renyi moments are (eps, delta)-private
    for every test F of all of them; nothing is assumed about repeated integrals. *)
Theorem releases_are_private :
  forall {X : Type} (I : integral X) (T : nat) (a delta : R) (p q : list X -> X -> R) (rho : nat -> R) (F : list X -> R),
  complete I -> 1 < a -> 0 < delta -> (forall h x, 0 < p h x) -> (forall h x, 0 < q h x) ->
  (forall h, density I (p h)) -> (forall h, density I (q h)) ->
  (forall h, intg I (fun x => power_term a (p h x) (q h x))) ->
  (forall h, moment I a (p h) (q h) <= exp ((a - 1) * rho (length h))) ->
  (forall r, 0 <= F r <= 1) ->
  let total := lsum rho (seq 0 T) in
  ahead I p T [] F <= exp (printed_epsilon a total delta) * ahead I q T [] F + delta /\
  ahead I p T [] F <= exp (improved_epsilon a total delta) * ahead I q T [] F + delta.
Proof.
  intros X I T a delta p q rho F HI Ha Hd Pp Pq Dp Dq Hm M HF total.
  assert (Jp : forall h, 0 < joint p h) by (intro; now apply joint_pos).
  assert (Jq : forall h, 0 < joint q h) by (intro; now apply joint_pos).
  assert (Single : forall (u : list X -> X -> R) y, (forall h, density I (u h)) ->
    sections I T (fun h => joint u h * F h) /\ (forall h, intg I (fun x => joint u (x :: h)) /\ int I (fun x => y * joint u (x :: h)) = y * joint u h)).
  { intros u y Du. assert (Ju : forall h, intg I (fun x => joint u (x :: h)) /\ int I (fun x => joint u (x :: h)) = joint u h).
    { intro h. destruct (Du h) as (_ & U1 & U2). simpl. split; [ now apply intg_scal | ].
      rewrite (int_scal I (joint u h)) by exact U1. rewrite U2. ring. }
    split.
    - apply (sections_dominated I _ (joint u) (fun _ => 1) HI); [ intros; lra | | ].
      + intro h. pose proof (HF h). assert (0 <= joint u h) by (apply joint_nonneg; intros; apply Du). nra.
      + intro h. destruct (Ju h) as (J1 & ->). split; [ exact J1 | lra ].
    - intro h. destruct (Ju h) as (J1 & J2). split; [ exact J1 | ]. now rewrite (int_scal I y (fun x => joint u (x :: h))), J2. }
  assert (SecH : forall y, sections I T (fun h => pos (joint p h - y * joint q h))).
  { intro y. apply (sections_dominated I _ (fun h => joint p h + Rabs y * joint q h) (fun _ => 1) HI); [ intros; lra | | ].
    - intro h. pose proof (Jp h); pose proof (Jq h); pose proof (Rabs_pos y). split; [ apply pos_nonneg | ].
      apply pos_least; [ nra | ]. pose proof (Rle_abs (- y)). rewrite Rabs_Ropp in *. nra.
    - intro h. destruct (Single p 1 Dp) as (_ & P), (Single q (Rabs y) Dq) as (_ & Q).
      destruct (P h) as (P1 & P2), (Q h) as (Q1 & Q2). split; [ apply intg_plus; [ exact P1 | now apply intg_scal ] | ].
      rewrite (int_plus I (fun x => joint p (x :: h)) (fun x => Rabs y * joint q (x :: h))) by (assumption || now apply intg_scal).
      rewrite Q2. rewrite (int_scal I 1) in P2 by exact P1. lra. }
  assert (SecM : sections I T (fun h => power_term a (joint p h) (joint q h))).
  { apply (sections_dominated I _ (fun h => power_term a (joint p h) (joint q h)) (fun n => exp ((a - 1) * rho n)) HI);
      [ intro; left; apply exp_pos | intro h; split; [ left; apply Rmult_lt_0_compat; apply exp_pos | lra ] | ].
    intro h. set (G := power_term a (joint p h) (joint q h)). assert (HG : 0 < G) by (apply Rmult_lt_0_compat; apply exp_pos).
    assert (E : forall x, G * power_term a (p h x) (q h x) = power_term a (joint p (x :: h)) (joint q (x :: h)))
      by (intro x; symmetry; now apply power_term_cons).
    assert (S1 := intg_scal I G _ (Hm h)). split; [ exact (intg_ext _ I _ _ E S1) | ].
    rewrite <- (int_ext I _ _ S1 E), (int_scal I G) by apply Hm. rewrite Rmult_comm.
    apply Rmult_le_compat_r; [ lra | apply M ]. }
  destruct (renyi_accounting I T a delta p q rho Ha Hd Pp Pq Hm SecM SecH (fun h _ => M h)) as (R1 & R2).
  fold total in R1, R2.
  destruct (Single p 1 Dp) as (Sp & _), (Single q 1 Dq) as (Sq & _).
  assert (Test : forall eps, composed I T (exp eps) p q <= delta ->
    ahead I p T [] F <= exp eps * ahead I q T [] F + delta).
  { intros eps R. pose proof (composed_bounds_every_test I T (exp eps) p q F HF Sp Sq (SecH (exp eps))) as B.
    rewrite <- (ahead_joint I HI p F Dp HF), <- (ahead_joint I HI q F Dq HF) in B. simpl joint in B. lra. }
  split; apply Test; assumption.
Qed.
